"""Whole schedules taken apart: contributions, gaps and planned costs against quality."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise, starmap

import numpy as np
from golden_path_pack.gph_core.analysis.decomposition import (
    Decomposition,
    median_gaps,
    over_runs,
    over_schedules,
)
from golden_path_pack.gph_core.analysis.step_sensitivity import StepSensitivity, plan_by_sensitivity
from golden_path_pack.gph_core.paths.spacings import spacing
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.quality.stats import spearman
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace

from benchmarks.lab.lab import Lab
from benchmarks.lab.shots import Shot
from benchmarks.study.measured_errors import decomposed, shots


def taken_apart(
    lab: Lab, sensitivity: StepSensitivity, full: int, drawn: int, numbers: Sequence[int]
) -> dict:
    """Whole schedules on some prompts, with residual reuse, as the sensitivity was measured."""
    schedules = candidates(plan_by_sensitivity(sensitivity, full).schedule, drawn)
    known = {schedule: decomposed(lab, schedule, numbers) for schedule in schedules}
    rows = [
        row(runs, shots(lab, schedule, Reuse(), numbers))
        | {"schedule": str(schedule), "cost": cost(sensitivity, schedule)}
        for schedule, runs in known.items()
    ]
    return {
        "over schedules": over_schedules({str(s): runs for s, runs in known.items()})._asdict(),
        "rounding": max(run.rounding for runs in known.values() for run in runs),
        "ranks": ranks(rows), "rows": rows,
    }  # fmt: skip


def candidates(planned: Schedule, drawn: int) -> list[Schedule]:
    """A planned schedule, uniform spacing, some neighbors of both, and random ones."""
    n, rng = planned.num_steps, random.Random(0)
    space = ScheduleSpace(n, planned.num_cached, (0, n - 1))
    known = [planned, spacing(n, planned.num_full)]
    near = [other for one in known for other in rng.sample(space.neighbors(one), drawn)]
    return list(dict.fromkeys([*known, *near, *(space.sample(rng) for _ in range(drawn))]))


def cost(sensitivity: StepSensitivity, schedule: Schedule) -> float:
    """The planner's estimate of the final error: the sum over all jumps."""
    ends = (*schedule.full_steps, schedule.num_steps)
    return sum(starmap(sensitivity.jump_cost, pairwise(ends)))


def row(runs: Sequence[Decomposition], shots: Sequence[Shot]) -> dict:
    """One schedule over its prompts."""
    return {
        "psnr": np.mean([shot.psnr for shot in shots]),
        "output error": np.mean([run.output_error for run in runs]),
        "state": np.mean([run.state_sum for run in runs]),
        "current": np.mean([run.current_sum for run in runs]),
        "over prompts": over_runs(runs)._asdict(), "gaps": median_gaps(runs),
    }  # fmt: skip


def ranks(rows: Sequence[Mapping]) -> dict:
    """Correlations over schedules."""
    psnr, errors, costs = ([row[name] for row in rows] for name in ("psnr", "output error", "cost"))
    gaps = zip(*(row["gaps"] for row in rows), strict=True)
    return {
        "gap and psnr": [spearman(gap, psnr) for gap in gaps],
        "error and psnr": spearman(errors, psnr),
        "cost and error": spearman(costs, errors), "cost and psnr": spearman(costs, psnr),
    }  # fmt: skip
