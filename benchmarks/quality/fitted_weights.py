"""How large fitted weights are on the demo models: what the bounds of ``policies/weights`` rest on.

Schedules with which a search begins and random ones, under the settings that differ most: few
steps, few examples, CFG from 1 to 10, other samplers. Fits are measured as they are before the
bounds; *beyond* counts those that the bounds change. Then all are multiplied: which are refused? It
takes about 25 minutes of one core.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unittest import mock

import numpy as np
import torch
from golden_path_pack.gph_core.paths.spacings import spacings
from golden_path_pack.gph_core.policies import weights
from golden_path_pack.gph_core.policies.weights import Size, Weights, check, size
from golden_path_pack.gph_core.schedule import ScheduleSpace

from benchmarks.lab import demo, report
from benchmarks.lab.lab import Lab
from benchmarks.lab.subjects import BOTH, VIDEO

FILE = "fitted-weights.json"
SEED = 41  # of captions, noise, and random schedules
FULL_STEPS = {4: (2, 3), 8: (2, 4, 6), 12: (3, 5), 20: (4, 8), 28: (5, 12), 50: (6, 13, 21, 40)}
CFGS = (1.0, 5.0, 10.0)
SAMPLERS = ("dpmpp_2m", "res_multistep", "uni_pc", "deis", "ipndm", "lms", "gradient_estimation")
OF_SAMPLERS = ((8, 4), (20, 5), (20, 8), (50, 9))  # steps, and how many are full
FEW_EXAMPLES, OF_FEW = (1, 2), ((8, 4), (20, 5), (50, 13))
OF_VIDEO = ((20, 5), (50, 9))
EXAMPLES, EXAMPLES_OF_VIDEO = 8, 4
RANDOM = 4  # schedules, beside the spacings
MOST_BEYOND = 0.01  # of the fits
TIMES, LEAST_REFUSED = (-1, 3, 10, 1000), {-1: 0.8, 3: 0.85, 10: 0.95, 1000: 0.99}

Fit = Sequence[tuple[int, Weights]]  # of each cached step


class Setting(NamedTuple):
    """Lab, number of full steps, and of examples."""

    lab: Lab
    full: int
    examples: int = EXAMPLES


def measure(options) -> dict:
    found = [(setting, fits(setting)) for setting in settings()]
    every = [(fit, setting.lab.steps) for setting, some in found for fit in some]
    return {
        "rows": report.printed(row(*one) for one in found),
        "multiplied": report.printed(refused(every, times) for times in TIMES),
    }


def settings() -> Iterator[Setting]:
    for steps, counts in FULL_STEPS.items():
        for full in counts:
            yield from (Setting(Lab(steps, cfg), full) for cfg in CFGS)
    for sampler in SAMPLERS:
        for steps, full in OF_SAMPLERS:
            yield from (Setting(Lab(steps, cfg, sampler), full) for cfg in (5.0, 1.0))
    for count in FEW_EXAMPLES:
        yield from (Setting(Lab(steps, 5.0), full, count) for steps, full in OF_FEW)
    for steps, full in OF_VIDEO:
        yield Setting(Lab(steps, 5.0, subject=VIDEO), full, EXAMPLES_OF_VIDEO)


def fits(setting: Setting) -> list[Fit]:
    """Weights of each schedule, as no bounds change them."""
    lab, full, count = setting
    work = lab.workload(count, SEED, held_out=False)
    fitted = lab.fits(work)
    space, rng = ScheduleSpace(lab.steps, lab.steps - full), random.Random(SEED)
    schedules = [*spacings(lab.steps, full), *(space.sample(rng) for _ in range(RANDOM))]
    without_bounds = mock.patch.object(
        weights, "confined", lambda found, *_: weights.rounded(found)
    )
    with torch.inference_mode(), without_bounds:
        return [fitted.policy_for(one).weights for one in dict.fromkeys(schedules)]


def row(setting: Setting, some: Sequence[Fit]) -> dict:
    """Ranges over the fits of a setting."""
    steps = [size_of(terms) for fit in some for _, terms in fit]
    means = [mean(fit) for fit in some]
    return {
        "setting": str(setting.lab), "full": setting.full, "examples": setting.examples,
        "fits": len(some), "beyond": sum(is_beyond(fit, setting.lab.steps) for fit in some),
        "sum": around([edge(one.total) for one in steps for edge in (np.min, np.max)]),
        "absolute": round(max(float(np.max(one.absolute)) for one in steps), 2),
        "own": round(sum(is_own(terms) for fit in some for _, terms in fit) / len(steps), 2),
        "mean sum": around([float(one.total) for one in means]),
        "mean absolute": round(max(float(one.absolute) for one in means), 2),
    }  # fmt: skip


def around(values: Sequence[float]) -> list[float]:
    """Least and largest of some values."""
    return [round(float(min(values)), 3), round(float(max(values)), 3)]


def size_of(terms: Weights) -> Size:
    """Size of the weights of a step, of each channel."""
    return size([term.weights for term in terms])


def is_own(terms: Weights) -> bool:
    """Whether the channels have weights of their own."""
    return any(len(term.weights) > 1 for term in terms)


def mean(fit: Fit) -> Size:
    """Size of the weights of a cached step in the mean."""
    sizes = [size_of(terms).mean for _, terms in fit]
    return Size(*(sum(values) / len(sizes) for values in zip(*sizes, strict=True)))


def is_beyond(fit: Fit, num_steps: int) -> bool:
    """Whether the bounds do not hold."""
    try:
        check(fit, num_steps)
    except ValueError:
        return True
    return False


def refused(every: Sequence[tuple[Fit, int]], times: float) -> dict:
    """Share of the fits that are refused when all their weights are multiplied."""
    count = sum(
        is_beyond([(n, multiplied(terms, times)) for n, terms in fit], steps)
        for fit, steps in every
    )
    return {"times": times, "refused": round(count / len(every), 3)}


def multiplied(terms: Weights, times: float) -> Weights:
    """Weights, each multiplied by a number."""
    return tuple(term._replace(weights=tuple(times * w for w in term.weights)) for term in terms)


def misses(figures: dict) -> list[str]:
    count, beyond = (sum(row[name] for row in figures["rows"]) for name in ("fits", "beyond"))
    words = []
    if beyond > MOST_BEYOND * count:
        words.append(f"the bounds change {beyond} of {count} fits")
    return words + [
        f"{one['refused']:.0%} are refused times {one['times']}"
        for one in figures["multiplied"]
        if one["refused"] < LEAST_REFUSED[one["times"]]
    ]


def conditions(options) -> dict:
    return {
        "model": BOTH, "sampling": f"{demo.SAMPLER} where no other is named, {demo.SCHEDULER}",
        "schedules": f"the spacings that a search begins with and {RANDOM} random ones",
        "unit": "of the weights of a cached step: range of their sum, largest sum of absolute "
        "values; mean: over the cached steps of a fit; beyond: fits that the bounds change; "
        "refused: share of all fits, their weights multiplied",
    }  # fmt: skip
