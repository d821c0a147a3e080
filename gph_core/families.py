"""Transformer families: where a model keeps its blocks. A family is data, one row each."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True, slots=True)
class Family:
    """How to find the block stack of one transformer class.

    Each final layer must receive the image tokens after the last block as its first argument, in
    the order in which the first block receives them.
    """

    name: str
    transformer: str  # exact class, as module.name: a subclass may compute elsewhere
    block_lists: tuple[str, ...]  # attributes, in the order in which they run
    final_layers: tuple[str, ...] = ("final_layer",)  # one per stream
    hidden: str | int = "img"  # the first block's argument with the image tokens
    output: int | None = None  # where they are in its result; None: the result is all of them
    first_block_key: tuple[str, int] | None = None  # under which others may replace the first block
    can_probe: bool = True  # the first block alone hands on exactly its own output
    tail: bool = False  # first block and final layer share only the last tokens of both


FAMILIES = (
    Family(
        name="FLUX",
        transformer="comfy.ldm.flux.model.Flux",
        block_lists=("double_blocks", "single_blocks"),
        output=0,
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
    return all(isinstance(blocks, nn.ModuleList) and len(blocks) > 0 for blocks in lists) and all(
        transformer._modules.get(name) is not None for name in family.final_layers
    )
