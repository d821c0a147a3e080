"""Number of schedules that each search has to score until it has the best one.

On the exhaustive table, where looking up the mean of a schedule is one evaluation.

Source: GPH paper, appendix *Comparing search procedures using exhaustive scores*. Its space has
1.4 million schedules, so the same number of evaluations means more there.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace
from golden_path_pack.gph_core.search.algorithms.table import ALGORITHMS, Setup
from golden_path_pack.gph_core.search.budget import Budget
from golden_path_pack.gph_core.search.study import Study

from benchmarks.lab import report
from benchmarks.lab.known_scores import TRIFLE, KnownScores
from benchmarks.study import space_table
from benchmarks.study.work import Work

TITLE = "How many schedules each search has to score"
NAMES = tuple(name for name in ALGORITHMS if name != "exhaustive")
AFTER = (20, 50, 100, 200, 500)  # evaluations
NEAR = 0.05  # dB
REPETITIONS, QUICK_REPETITIONS = 50, 2


def measure(work: Work) -> dict:
    table = space_table.load(work)
    means = dict(zip(table.space, table.scoring.mean(axis=1).tolist(), strict=True))
    new = dict(zip(table.space, table.new.mean(axis=1).tolist(), strict=True))
    repetitions = range(work.size(REPETITIONS, QUICK_REPETITIONS))
    rows = []
    for name in NAMES:
        courses = [course(table.space, means, name, seed) for seed in repetitions]
        rows.append({"search": name, **figures_of(courses, means, new)})
        print(f"search: {name}, {rows[-1]['exact']} exact", flush=True)
    return {
        "unit": f"dB of mean PSNR below the best of {table.space.size} schedules on the scoring "
        f"prompts, after {AFTER} evaluations; mean of {len(repetitions)} searches",
        "evaluations": AFTER, "searches": len(repetitions), "schedules": table.space.size,
        "rows": rows,
    }  # fmt: skip


def course(
    space: ScheduleSpace, means: Mapping[Schedule, float], name: str, seed: int
) -> list[Schedule]:
    """The best schedule so far after each evaluation."""
    found: list[Schedule] = []

    def follow(schedule: Schedule, _score) -> None:
        best = found[-1] if found else schedule
        found.append(schedule if means[schedule] > means[best] else best)

    known = KnownScores({schedule: [mean] for schedule, mean in means.items()})
    budget = Budget(evaluations=AFTER[-1])
    study = Study(known, budget=budget, stops_when_stalled=False, on_score=follow)
    study.run(ALGORITHMS[name].start(space, random.Random(f"{seed} {name}"), [], Setup()))
    return found


def figures_of(
    courses: Sequence[Sequence[Schedule]], means: Mapping[Schedule, float],
    new: Mapping[Schedule, float],
) -> dict:  # fmt: skip
    """Summary of several searches of one kind; one that ended early keeps its last result."""
    best = max(means.values())
    regrets = [[best - means[schedule] for schedule in course] for course in courses]
    reached = [next((n for n, r in enumerate(run, 1) if r <= NEAR), np.inf) for run in regrets]
    return {
        "gaps": [np.mean([run[min(n, len(run)) - 1] for run in regrets]) for n in AFTER],
        "exact": sum(run[-1] < TRIFLE for run in regrets),
        "evaluations": float(np.median(reached)) if np.median(reached) < np.inf else None,
        "loss on new prompts": max(new.values()) - np.mean([new[c[-1]] for c in courses]),
    }


def summary(data: dict) -> str:
    head = ["search", *(f"after {n}" for n in data["evaluations"])]
    head += ["exact in the end", f"evaluations to {NEAR} dB", "loss on new prompts"]
    lines = [
        [
            r["search"], *(f"{regret:.3f}" for regret in r["gaps"]),
            f"{r['exact']} of {data['searches']}",
            "–" if r["evaluations"] is None else f"{r['evaluations']:.0f}",
            f"{r['loss on new prompts']:.3f}",
        ]
        for r in sorted(data["rows"], key=lambda r: r["gaps"][-1])
    ]  # fmt: skip
    return f"{report.table(head, lines)}\n\nIn dB below the best of {data['schedules']} schedules."


def draw(data: dict, figure) -> None:
    figure.set_size_inches(report.WIDTH, 5)
    axes = figure.subplots()
    colors, styles = report.COLORS, ("o-", "s--", "^:")
    for number, row in enumerate(data["rows"]):
        style = styles[number // len(colors)]
        color = colors[number % len(colors)]
        axes.plot(data["evaluations"], row["gaps"], style, color=color, label=row["search"])
    axes.set_xscale("log")
    axes.set_xticks(data["evaluations"], data["evaluations"], minor=False)
    axes.minorticks_off()
    axes.set(xlabel="schedules scored", ylabel="dB below the best schedule")
    axes.legend(fontsize=8)
