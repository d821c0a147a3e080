"""The whole zoo, by the names of its cases, and which of them stand for the others.

What a cache has to do to a model depends on the *shape* of a case: how many block lists and final
layers there are, where the image's tokens are, and what the prompt puts beside them. Tests of the
classes themselves run on each family, what costs more on one case for each shape; the other cases
run with ``--all``.
"""

from collections.abc import Hashable, Iterable

import pytest
from golden_path_pack.gph_core.model import families

from . import zoo_images, zoo_pixels, zoo_sounds, zoo_videos
from .zoo import Case

CASES = {
    case.name: case
    for case in (*zoo_images.CASES, *zoo_pixels.CASES, *zoo_videos.CASES, *zoo_sounds.CASES)
}

# Upstream: ACE-Step 1.5 gives the timbre of all items of a batch to the first one.
BATCH_OF_ONE = zoo_videos.BATCH_OF_ONE | {
    case.name for case in zoo_sounds.CASES if case.family == "ACE-Step 1.5"
}

# Keys of a prompt that bring tokens beside those of the latent.
_MORE_TOKENS = {
    "reference_latents", "ref_latent", "ref_audio", "reference_motion", "context_latents",
    "keyframe_idxs", "minimax_refs",
}  # fmt: skip
_ROWS = {family.name: family for family in families.FAMILIES}


def shape(case: Case) -> Hashable:
    """What of a case decides how its model is cached."""
    row, prompt = _ROWS[case.family], case.conditioning(0, 5)[0][1]
    return (
        len(row.block_lists), row.streams, row.end, type(row.image), row.output is None, row.tail,
        bool(row.inside), row.calls_what_it_finds, row.is_cut, row.mixes_prompts, row.prefix,
        bool(row.memory), isinstance(case.latent[0], tuple), bool(_MORE_TOKENS & prompt.keys()),
    )  # fmt: skip


# The first use of each family, and the first case of each shape.
FAMILIES = {case.family: case for case in reversed(CASES.values())}
SHAPES = {shape(case): case for case in reversed(CASES.values())}
# Some of other kinds: images, references, videos, sound, pixels.
SEVERAL = [
    CASES[name]
    for name in (
        "FLUX dev", "Qwen-Image-Edit", "HunyuanVideo", "Wan Dancer", "LTX-2", "MiniMax H3",
        "PixelDiT", "Stable Audio Open",
    )
    if name in CASES
]  # fmt: skip


def cases(default: Iterable[Case], later: Iterable[Case] = CASES.values()) -> list:
    """Values of a parameter: cases that are tested by default, and others only with ``--all``."""
    names = {case.name for case in default}
    return [
        pytest.param(case, id=case.name, marks=[] if case.name in names else pytest.mark.long)
        for case in later
    ]
