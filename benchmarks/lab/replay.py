"""Replay of an adaptive method's most frequent schedule where the method chose another."""

from __future__ import annotations

import random
import statistics

from golden_path_pack.gph_core.analysis.frequency import Frequencies
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace

from benchmarks.lab.lab import Lab
from benchmarks.lab.results import interval
from benchmarks.lab.shots import Shot, Shots, Way
from benchmarks.lab.ways import fixed

DIGITS = 6  # of intervals: errors of latents are small
DRAWS = 5  # of random schedules, as in the GPH paper


def replay(lab: Lab, shots: Shots, way: Way, found: list[Shot]) -> dict:
    """The central test: one schedule for all prompts against the method's own choice for each.

    Source: GPH paper, *Selecting shared schedules* and the replay tables.
    """
    schedules = [Schedule.parse(shot.schedule) for shot in found]
    third = len(schedules) // 3
    selection, rest = schedules[:third], range(third, len(schedules))
    chosen = Frequencies.of(selection).most_frequent(lab.steps - way.num_full)
    differing = [n for n in rest if schedules[n] != chosen]
    share = sum(schedule == chosen for schedule in selection) / third
    result = {
        "schedule": str(chosen), "cached": chosen.num_cached, "share": share,
        "runs": len(differing),
    }  # fmt: skip
    random_ones = [drawn(chosen, f"{way.name} {number}") for number in range(DRAWS)]
    for metric in ("psnr", "ssim"):

        def gains(schedule, metric=metric) -> list[float]:
            again = shots.of(fixed(way.name, schedule, way.plan.policy), differing)
            pairs = zip(again, (found[n] for n in differing), strict=True)
            return [getattr(new, metric) - getattr(old, metric) for new, old in pairs]

        several = len(differing) > 1
        result[f"replayed {metric}"] = interval(gains(chosen), DIGITS) if several else None
        means = [statistics.fmean(gains(schedule)) for schedule in random_ones if several]
        result[f"random {metric}"] = interval(means, DIGITS) if several else None
    return result


def drawn(like: Schedule, seed: str) -> Schedule:
    """A random schedule with as many full steps, including the first three and the last."""
    required = (0, 1, 2, like.num_steps - 1)
    space = ScheduleSpace(like.num_steps, like.num_cached, required)
    return space.sample(random.Random(seed))
