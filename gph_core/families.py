"""Transformer families: where a model keeps its blocks. A family is data, one row each."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True, slots=True)
class Family:
    """How to find the block stack of one transformer class.

    The first block must receive the image tokens as ``hidden`` (by keyword), and the final layer
    must receive the image tokens after the last block as its first argument, in the same order.
    """

    name: str
    transformer: str  # exact class, as module.name: a subclass may compute elsewhere
    block_lists: tuple[str, ...]  # attributes, in the order in which they run
    final_layer: str
    hidden: str
    first_block_key: tuple[str, int]  # under which other extensions replace the first block


FAMILIES = (
    Family(
        name="FLUX",
        transformer="comfy.ldm.flux.model.Flux",
        block_lists=("double_blocks", "single_blocks"),
        final_layer="final_layer",
        hidden="img",
        first_block_key=("double_block", 0),
    ),
)


def detect(transformer: nn.Module) -> Family | None:
    """The family of a transformer, or None for a class or a structure that is not known."""
    kind = type(transformer)
    name = f"{kind.__module__}.{kind.__qualname__}"
    for family in FAMILIES:
        if family.transformer == name and _has_structure(transformer, family):
            return family
    return None


def _has_structure(transformer: nn.Module, family: Family) -> bool:
    lists = [transformer._modules.get(name) for name in family.block_lists]
    return (
        all(isinstance(blocks, nn.ModuleList) and len(blocks) > 0 for blocks in lists)
        and transformer._modules.get(family.final_layer) is not None
    )
