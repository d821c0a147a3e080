"""Propagation Gain on a tiny FLUX and on the demo model."""

from __future__ import annotations

import comfy.samplers
import torch
from golden_path_pack.nodes.analyze.propagation_gain import PropagationGain
from golden_path_pack.nodes.sample.demo import DemoModel
from golden_path_pack.nodes.sample.examples import ScoringExamples

from ..zoo import zoo
from .tiny_recordings import examples

STEPS = 6
PROMPTS = "two red circles\na blue square left of a pink diamond"


def inputs(model, number=2, steps=STEPS):
    """Of the node, for the tiny FLUX."""
    return {
        "model": model, "examples": examples(number),
        "latent": {"samples": torch.zeros(1, 16, 8, 8)},
        "sampler": comfy.samplers.sampler_object("euler"), "sigmas": zoo.sigmas(model, steps),
        "cfg": 3.0, "name": "mine",
    }  # fmt: skip


def demo_inputs(steps=STEPS):
    """Of the node, for the demo model."""
    model, _, clip = DemoModel.execute().result
    (found,) = ScoringExamples.execute(PROMPTS, "1, 2", clip=clip).result
    return {
        **inputs(model, steps=steps), "examples": found, "cfg": 5.0,
        "latent": {"samples": torch.zeros(1, 48, 8, 8)},
    }  # fmt: skip


def run(model, number=2, **changes):
    """What the node gives."""
    return PropagationGain.execute(**inputs(model, number) | changes)
