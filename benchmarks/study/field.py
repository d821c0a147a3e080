"""The candidates among which coverage is asked, and how they do on new prompts.

The smaller set has what offline and adaptive methods choose, uniform spacing, and MeanCache's
schedule with some steps exchanged; the enlarged one further exchanges and random ones, too, and of
the image model searched schedules. All with residual reuse.

Source: GPH paper, appendix *Candidate sets and schedule selection*.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab.shots import Shots
from benchmarks.lab.subjects import IMAGE
from benchmarks.study import candidates
from benchmarks.study.adaptive import names_of, of_lab
from benchmarks.study.parts import objectives
from benchmarks.study.parts.step_counts import BUDGET, QUICK_BUDGET
from benchmarks.study.work import Work

UNIFORM, VARIED, RANDOM = "uniform", "MeanCache", "random"
SWAPS, DRAWN = (1, 2, 4), 6
METRICS = {"PSNR": "psnr", "SSIM": "ssim"}

_Named = dict[str, Schedule | None]


class Field(NamedTuple):
    """The candidates of one number of full steps, on all prompts.

    Args:
        small: how many of them, the first ones, are the smaller set.
        quality: ``[S, P]`` by metric.
    """

    steps: int
    full: int
    schedules: dict[str, Schedule]
    small: int
    quality: dict[str, np.ndarray]


def measured(work: Work, shots: Shots, full: int, selection: int) -> Field:
    """Candidates by name, sampled.

    Args:
        selection: on so many prompts, the first, it is counted what adaptive methods choose often.
    """
    lab = shots.lab
    ready = dict(objectives.offline(lab, full))
    often = {
        f"{way.name}, most frequent": candidates.frequent(found[:selection], full)
        for _, _, way, found in of_lab(lab, [full], names_of(work))
    }
    late, anywhere = variants(ready[VARIED])
    small = ready | often | late
    searched: _Named = {}
    if work.subject == IMAGE:
        found = objectives.searches(lab, full, work.size(BUDGET, QUICK_BUDGET))
        searched = {f"search, {name}": schedule for name, schedule in found}
    others = searched | anywhere | candidates.drawn(lab.steps, full, work.size(DRAWN, 2))
    schedules = candidates.distinct(small | others)
    results = [objectives.on_new_prompts(shots, schedule) for schedule in schedules.values()]
    print(f"{lab}, {full} full: {len(schedules)} candidates", flush=True)
    quality = {
        metric: np.array([[getattr(shot, name) for shot in result] for result in results])
        for metric, name in METRICS.items()
    }
    return Field(lab.steps, full, schedules, len(candidates.distinct(small)), quality)


def variants(schedule: Schedule) -> tuple[_Named, _Named]:
    """Variants with 1, 2 and 4 steps exchanged: behind the first cached one, and from step 3 on."""
    rng, first = random.Random(0), schedule.cached_steps[0] + 1
    late: _Named = {
        f"{VARIED}, {n} exchanged": candidates.varied(schedule, n, rng, first) for n in SWAPS
    }  # fmt: skip
    anywhere: _Named = {
        f"{VARIED}, {n} exchanged anywhere": candidates.varied(schedule, n, rng) for n in SWAPS
    }
    return late, anywhere
