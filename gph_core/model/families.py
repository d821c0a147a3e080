"""All transformer families, and the detection of a model's."""

from __future__ import annotations

from torch import nn

from .family import Family
from .image_families import IMAGE_FAMILIES
from .pixel_families import PIXEL_FAMILIES
from .sound_families import SHAPE_FAMILIES, SOUND_FAMILIES
from .video_families import VIDEO_FAMILIES

FAMILIES = (*IMAGE_FAMILIES, *PIXEL_FAMILIES, *VIDEO_FAMILIES, *SOUND_FAMILIES, *SHAPE_FAMILIES)
_VIDEOS = frozenset(family.name for family in FAMILIES if family.is_video)


def is_video(family: str) -> bool:
    """Whether the models of a family, by its name, make videos; False for an unknown name."""
    return family in _VIDEOS


def detect(transformer: nn.Module) -> Family | None:
    """The family of a transformer; None if its class or structure is unknown."""
    kind = type(transformer)
    name = f"{kind.__module__}.{kind.__qualname__}"
    for family in FAMILIES:
        if family.transformer == name and _has_structure(transformer, family):
            return family
    return None


def _has_structure(transformer: nn.Module, family: Family) -> bool:
    if family.mark and getattr(transformer, family.mark, None) is None:
        return False
    try:
        place = transformer.get_submodule(family.inside)
    except AttributeError:
        return False
    lists = [place._modules.get(name) for name in family.block_lists]
    final_layers = [place._modules.get(name) is not None for name in family.final_layers]
    # A layer that is called if it is found must not be there: the model would be another one.
    expected = not family.calls_what_it_finds
    return all(isinstance(blocks, nn.ModuleList) and len(blocks) > 0 for blocks in lists) and all(
        present is expected for present in final_layers
    )
