"""Schedules of other origins than a search, to be compared under one policy."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from golden_path_pack.gph_core.analysis.frequency import Frequencies
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace

from benchmarks.lab.shots import Shot


def frequent(found: Sequence[Shot], full: int) -> Schedule | None:
    """The most frequent schedule of some runs among those with so many full steps, if any has."""
    schedules = [Schedule.parse(shot.schedule) for shot in found]
    exact = [schedule for schedule in schedules if schedule.num_full == full]
    return Frequencies.of(exact).most_frequent() if exact else None


def drawn(steps: int, full: int, count: int) -> dict[str, Schedule]:
    """Random schedules by name, the first three steps and the last one full."""
    space = ScheduleSpace(steps, steps - full, (0, 1, 2, steps - 1))
    rng = random.Random(0)
    return {f"random {number + 1}": space.sample(rng) for number in range(count)}


def varied(
    schedule: Schedule, swaps: int, rng: random.Random, first: int = 3
) -> Schedule | None:  # fmt: skip
    """A schedule with some cached steps exchanged for full ones, drawn from ``first`` to N - 2.

    None where it has too few of either there.
    """
    inside = range(first, schedule.num_steps - 1)
    full = [step for step in inside if step in schedule.full_steps]
    cached = [step for step in inside if step not in schedule.full_steps]
    if swaps > min(len(full), len(cached)):
        return None
    for away, instead in zip(rng.sample(full, swaps), rng.sample(cached, swaps), strict=True):
        schedule = schedule.swap(away, instead)
    return schedule


def distinct(schedules: Mapping[str, Schedule | None]) -> dict[str, Schedule]:
    """Each schedule once, under its first name; without those that there are not."""
    found: dict[Schedule, str] = {}
    for name, schedule in schedules.items():
        if schedule is not None:
            found.setdefault(schedule, name)
    return {name: schedule for schedule, name in found.items()}
