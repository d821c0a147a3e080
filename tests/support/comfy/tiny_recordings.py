"""Runs of a tiny FLUX, as Record Runs makes them and by hand."""

from __future__ import annotations

from dataclasses import replace

import comfy.samplers
import torch
from golden_path_pack.gph_core.run.record_file import RecordedRun
from golden_path_pack.gph_core.schedule import Schedule
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


def made(model, texts):
    """Runs with these schedules; None for one that was cut short."""
    (one,), _ = run(fixed(model), 1)
    runs = []
    for number, text in enumerate(texts):
        schedule = Schedule.parse(text or "0-7/8")
        record = replace(
            one.record, full_steps=schedule.full_steps,
            cached_steps=schedule.cached_steps if text else (), sigmas=one.record.sigmas,
        )  # fmt: skip
        if text is None:
            record = replace(record, full_steps=(0, 1, 2))
        runs.append(RecordedRun(f"{number}", "", number, record))
    return tuple(runs)


A, B, C, D = "0,4,7/8", "0,3,7/8", "0-1,4,7/8", "0,7/8"
RUNS = [A, B, C, None, A, C, A, D, None, B, C, A]  # of ten: A 4, C 3, B 2, D 1
