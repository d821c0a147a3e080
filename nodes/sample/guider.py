"""Guiders of the nodes that sample examples, and conditions of their full runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import comfy.samplers

from ..hook import fingerprint, patching
from .examples import Example


def conditions_of(
    guider, examples: Sequence[Example], latent: Mapping[str, Any], sampler, sigmas
) -> dict[str, Any]:
    """Conditions of the latents of full runs, except for the examples themselves."""
    own = all(example.negative is not None for example in examples)
    replaced = {"positive", "negative"} if own else {"positive"}
    return fingerprint.of_sampling(guider, latent, sampler, sigmas, replaced)


def guider_for(model, guider, cfg: float, example: Example):
    """Guider without a cache: the given one, or one with CFG for the model."""
    if guider is None:
        guider = comfy.samplers.CFGGuider(patching.without_cache(model))
        guider.set_cfg(cfg)
        conds = {"positive": example.positive}
        if example.negative is not None or cfg == 1:
            conds["negative"] = example.negative or example.positive  # at CFG 1 not evaluated
        guider.inner_set_conds(conds)
    return guider
