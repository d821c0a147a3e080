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
    schedule: Schedule, sigmas: Sequence[float], sigma_max: float, first_full: int = 1
) -> Choice:
    """A user's schedule for a run with these noise levels.

    A run of fewer steps is a part of the schedule: the first steps if it begins in pure noise and
    leaves some, the last steps if it begins with less and leaves none. Two experts, or two samplers
    in a row, so share one schedule; each begins without anchors, so its first ``first_full`` steps
    are full.
    """
    count, total = len(sigmas) - 1, schedule.num_steps
    begins_in_noise = sigmas[0] >= sigma_max * (1 - 1e-3)  # some samplers lower the first level
    ends_clean = sigmas[-1] == 0
    if count >= total or begins_in_noise == ends_clean:
        return Choice(schedule, "your schedule")
    first = 0 if begins_in_noise else total - count
    origin = f"steps {first} to {first + count - 1} of your schedule {schedule}"
    return Choice(schedule.part(first, count, first_full), origin)


@cache
def published_paths() -> tuple[dict[str, str], ...]:
    """The bundled golden paths, each with its conditions and source."""
    file = Path(__file__).parent / "data" / "golden_paths.json"
    return tuple(json.loads(file.read_text("utf-8"))["paths"])
