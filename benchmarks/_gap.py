"""Latents of early steps as a sign of how good a schedule will be.

The gap at step n is the distance of a cached run's latent to that of the full run, of the latter's
norm. It depends on the steps before n alone, so each prefix of the scored space is run once.

Source: seed paper, which explains 71.5 % of the variance of quality across methods by the gap at
step 10 of 50.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmarks import _demo, _results, _space

FILE = Path(__file__).parent / "results" / "early-gap.json"
STEPS = (4, 10)  # as 10 of 50, and half of the run
BEST = 10


def measure() -> None:
    """Compare gaps with the scores of the space and write ``FILE``."""
    values = _space.load()
    quality = np.array([value.mean() for value in values.values()])
    rows = []
    for step in STEPS:
        prefixes = [_prefix(schedule, step) for schedule in values]
        logs = _log_gaps(sorted(set(prefixes)), step)
        gap = np.array([logs[prefix] for prefix in prefixes])
        best = np.argsort(-quality)[:BEST]
        smaller = [float((gap < gap[number]).mean()) for number in best]
        rows.append({
            "step": step, "prefixes": len(logs),
            "variance of quality explained": round(float(np.corrcoef(gap, quality)[0, 1] ** 2), 3),
            "part of the schedules with a smaller gap than the best": round(smaller[0], 3),
            f"the same for the best {BEST}, mean": round(float(np.mean(smaller)), 3),
        })  # fmt: skip
        print(rows[-1], flush=True)
    conditions = {
        "model": "demo model", "scores": _space.FILE.name,
        "sampling": f"{_demo.SAMPLER}, {_space.SCHEDULER}, CFG {_demo.CFG:g}, residual reuse",
    }  # fmt: skip
    _results.write(FILE, conditions, rows=rows)


def _prefix(schedule, step: int) -> tuple[int, ...]:
    return tuple(n for n in schedule.full_steps if n < step)


def _log_gaps(prefixes: list[tuple[int, ...]], step: int) -> dict[tuple[int, ...], float]:
    """Mean of the logarithms of the examples' gaps, by prefix."""
    from golden_path_pack.gph_core.policies.extrapolation import Reuse
    from golden_path_pack.gph_core.schedule import Schedule
    from golden_path_pack.nodes.sample.sampler_variants import ending_after

    prompts = _demo.captions(_space.PROMPTS, _space.SEED, held_out=False)
    count = _space.SPACE.num_steps
    sampling = _demo.sampling(prompts, _space.SEED, _space.SCHEDULER, count)
    begun = replace(sampling, sampler=ending_after(sampling.sampler, step))
    with torch.inference_mode():
        reference = begun.full().flatten(1)
        found = {}
        for prefix in prefixes:
            latent, _ = begun.cached(Schedule(prefix, count), Reuse())
            gap = (latent.flatten(1) - reference).norm(dim=1) / reference.norm(dim=1)
            found[prefix] = float(gap.clamp_min(1e-6).log().mean())
    return found
