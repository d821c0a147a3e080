"""The speed choice of *Golden Path Cache*: from a name and a step count to a schedule."""

from __future__ import annotations

import json
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


@cache
def published_paths() -> tuple[dict[str, str], ...]:
    """The bundled golden paths, each with its conditions and source."""
    file = Path(__file__).parent / "data" / "golden_paths.json"
    return tuple(json.loads(file.read_text("utf-8"))["paths"])
