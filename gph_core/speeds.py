"""The speed choice of *Golden Path Cache*: from a name and a step count to a schedule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .schedule import Schedule, uniform

# Cache ratios K/N of the seed paper: 29, 37 and 41 of 50 steps cached.
SPEEDS = {"Quality": 0.58, "Balanced": 0.74, "Fast": 0.82}

# The paper's search always keeps the first three steps and the last one full.
MIN_FULL = 4


class Choice(NamedTuple):
    """A schedule and, in words, where it comes from."""

    schedule: Schedule
    origin: str
    first: int = 0  # where it begins in a longer schedule


def resolve(speed: str, num_steps: int, family: str | None) -> Choice:
    """The schedule of a speed for a run of ``num_steps`` steps of a model family.

    A published path for this family and step count if there is one, else uniform spacing. At least
    ``MIN_FULL`` steps stay full, so very short runs gain little or nothing.
    """
    if speed not in SPEEDS:
        raise ValueError(f"{speed!r} is not a speed; choose one of {', '.join(SPEEDS)}")
    num_cached = round(SPEEDS[speed] * num_steps)
    num_full = min(num_steps, max(MIN_FULL, num_steps - num_cached))
    for path in published_paths():
        schedule = Schedule.parse(path["schedule"])
        if (path["family"], schedule.num_steps, schedule.num_full) == (family, num_steps, num_full):
            return Choice(schedule, f"published for {path['model']}")
    return Choice(uniform(num_steps, num_full), "uniform spacing")


def fit(
    schedule: Schedule,
    sigmas: Sequence[float],
    sigma_max: float,
    first_full: int = 1,
    continues: bool = False,
) -> Choice:
    """A user's schedule for a run with these noise levels.

    A run of fewer steps than the schedule is a part of it: its first steps if it leaves noise, its
    last ones if it goes on with latents that have some. Two experts, or two samplers in a row, so
    share one schedule.

    Args:
        schedule: of all steps.
        sigmas: of the steps of this run.
        sigma_max: of pure noise.
        first_full: full steps at the begin of a part, as it begins without anchors.
        continues: no noise is added before the first step.
    """
    count, total, share = len(sigmas) - 1, schedule.num_steps, sigmas[0] / sigma_max
    leaves_noise = sigmas[-1] > 0
    goes_on = continues or share < 0.95  # some schedulers begin a little below pure noise
    is_part = leaves_noise != goes_on
    if count >= total or not is_part:
        return Choice(schedule, "your schedule")
    first = 0 if leaves_noise else total - count
    origin = f"steps {first} to {first + count - 1} of your schedule {schedule}"
    return Choice(schedule.part(first, count, first_full), origin, first)


@cache
def published_paths() -> tuple[dict[str, str], ...]:
    """The bundled golden paths, each with its conditions and source."""
    file = Path(__file__).parent / "data" / "golden_paths.json"
    return tuple(json.loads(file.read_text("utf-8"))["paths"])
