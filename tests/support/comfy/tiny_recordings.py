"""Runs of a tiny FLUX, as Record Runs makes them and by hand."""

from __future__ import annotations

import comfy.samplers
import torch
from golden_path_pack.nodes.cache.adaptive import plan_of
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.record.record_runs import RecordRuns
from golden_path_pack.nodes.sample.examples import Example

from ..zoo import zoo
from . import tiny

STEPS = 8


def examples(number):
    return tuple(
        Example(f"prompt {n}", tiny.conditioning(n), tiny.conditioning(99), seed=n)
        for n in range(number)
    )


def plan(threshold, method="First Block Cache"):
    return plan_of(method, "Threshold", threshold, "none")


def adaptive(model, threshold=0.6, method="First Block Cache"):
    return patching.attach(model, plan(threshold, method), tiny.Listener())


def fixed(model, schedule="0-2,5,7/8"):
    return tiny.attach(model, schedule)


def run(model, number=3, **changes):
    """What the node gives."""
    inputs = {
        "model": model, "examples": examples(number),
        "latent": {"samples": torch.zeros(1, 16, 8, 8)},
        "sampler": comfy.samplers.sampler_object("euler"), "sigmas": zoo.sigmas(model, STEPS),
        "cfg": 3.0, "recording": "mine",
    } | changes  # fmt: skip
    return RecordRuns.execute(**inputs).result


def by_hand(model, example):
    """Record and latent of one example as KSampler samples it."""
    listener = tiny.Listener()
    patched = patching.attach(model, patching.plan_of(model), listener)
    noise = comfy.sample.prepare_noise(torch.zeros(1, 16, 8, 8), example.seed)
    latent = comfy.sample.sample(
        patched, noise, STEPS, 3.0, "euler", "simple", example.positive, example.negative,
        torch.zeros_like(noise), disable_pbar=True, seed=example.seed,
    )  # fmt: skip
    return listener.records[0], latent
