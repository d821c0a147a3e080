"""Transformer evaluations that each search needs to find the best schedule.

On a space of the demo model of which every schedule is scored (``_space``), so the best one is
known. The cost unit is a *full step*: one transformer evaluation at full compute of one example.
Every search runs with 20 seeds until it has found the best schedule. *annealing* has the settings
of the GPH paper's comparison of searches, *recommended* those of Schedule Search: shorter chains,
states from which runs go on, racing. Warm starts are left out of both. Medians of 20 seeds differ
by a quarter, so these two are compared with 100. It takes five minutes, with ``-- --score`` ten
more to score the space anew.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.algorithms.table import ALGORITHMS, DEFAULT, Setup
from golden_path_pack.gph_core.search.budget import Budget
from golden_path_pack.gph_core.search.judge import Race
from golden_path_pack.gph_core.search.setup import SHORTEST_CHAIN
from golden_path_pack.gph_core.search.study import Study
from matplotlib.figure import Figure

from benchmarks.lab import report
from benchmarks.lab.known_scores import (
    TRIFLE,
    KnownScores,
    median_cost,
    median_regret,
    worst_end,
)
from benchmarks.quality import _space

FILE = "search.json"
SEEDS = 20
MANY_SEEDS = 100
BUDGET = 60_000  # full steps: more than all 8 examples of 1000 schedules
COSTS = np.geomspace(100, BUDGET, 200)  # of the picture
REGRETS = (0.5, 0.2, 0.1, 0.05, 0.01)  # dB to the best schedule
BAR_REGRET, BAR_SHARE = 0.05, 1 / 3
NUM_COLORS = 10  # before matplotlib begins again
PAPER, RECOMMENDED = "annealing", "recommended"


@dataclass(frozen=True)
class Variant:
    """A search with some of the savings."""

    algorithm: str
    num_proposals: int = 200  # of a chain, as in the GPH paper's comparison
    keeps_states: bool = False
    races: bool = False

    def run(
        self, values: dict[Schedule, np.ndarray], seed: int, best: float
    ) -> list[tuple[float, float]]:
        """The course: full steps so far, and the best mean, after each improvement."""
        rng = random.Random(seed)
        course: list[tuple[float, float]] = []

        def follow(_schedule, score) -> None:
            if score.is_whole and (not course or score.mean > course[-1][1]):
                course.append((study.full_steps, score.mean))
                if score.mean > best - TRIFLE:
                    raise _FoundError

        study = Study(
            KnownScores(values, self.keeps_states),
            budget=Budget(full_steps=BUDGET),
            race=Race() if self.races else None,
            stops_when_stalled=False,
            on_score=follow,
        )
        setup = Setup(num_proposals=self.num_proposals)
        with suppress(_FoundError):
            study.run(ALGORITHMS[self.algorithm].start(_space.SPACE, rng, [], setup))
        return course


class _FoundError(Exception):
    """The best schedule of the space is found."""


SAVINGS = {
    "short annealing": Variant(DEFAULT, SHORTEST_CHAIN),
    "short annealing, states": Variant(DEFAULT, SHORTEST_CHAIN, keeps_states=True),
    "short annealing, racing": Variant(DEFAULT, SHORTEST_CHAIN, races=True),
    RECOMMENDED: Variant(DEFAULT, SHORTEST_CHAIN, keeps_states=True, races=True),
}
VARIANTS = {name: Variant(name) for name in ALGORITHMS} | SAVINGS


def add_options(parser) -> None:
    parser.add_argument("--score", action="store_true", help="score the space anew")


def measure(options) -> dict:
    if options.score:
        _space.score()
    values = _space.load()
    best = max(float(v.mean()) for v in values.values())
    runs = {(name, SEEDS): variant for name, variant in VARIANTS.items()}
    runs |= {(name, MANY_SEEDS): VARIANTS[name] for name in (PAPER, RECOMMENDED)}
    rows, regrets = [], {}
    for (name, seeds), variant in runs.items():
        courses = [variant.run(values, seed, best) for seed in range(seeds)]
        regrets.setdefault(name, [median_regret(courses, best, cost) for cost in COSTS])
        rows.append(row(name if seeds == SEEDS else f"{name}, {seeds} seeds", courses, best))
    return {"rows": report.printed(rows), "_regrets": regrets}


def row(name: str, courses: list, best: float) -> dict:
    """Median costs of each regret, and the worst end."""
    costs = [median_cost(courses, best, regret) for regret in REGRETS]
    return {
        "search": name, "full steps": [c if np.isfinite(c) else None for c in costs],
        "worst end": round(worst_end(courses, best), 3),
    }  # fmt: skip


def many(figures: dict, name: str) -> list[float]:
    """Median costs over many seeds."""
    (found,) = [r for r in figures["rows"] if r["search"] == f"{name}, {MANY_SEEDS} seeds"]
    return [np.inf if cost is None else cost for cost in found["full steps"]]


def summary(figures: dict) -> str:
    pairs = zip(REGRETS, many(figures, RECOMMENDED), many(figures, PAPER), strict=True)
    return "\n".join(
        f"to a median gap of {regret} dB, {RECOMMENDED} needs {ours / paper:.2f} of {PAPER} "
        f"({ours:.0f} of {paper:.0f})"
        for regret, ours, paper in pairs
    )


def misses(figures: dict) -> list[str]:
    (end,) = [row["worst end"] for row in figures["rows"] if row["search"] == PAPER]
    ours, paper = (many(figures, n)[REGRETS.index(BAR_REGRET)] for n in (RECOMMENDED, PAPER))
    words = [f"{PAPER} ends {end:.3f} dB below the best"] if end > BAR_REGRET else []
    return words + ([f"{RECOMMENDED} needs too much"] if ours / paper > BAR_SHARE else [])


def conditions(options) -> dict:
    best = max(float(v.mean()) for v in _space.load().values())
    return {
        "model": "demo model",
        "space": "2380 schedules: 20 steps, 7 full, 0, 1 and 19 fixed, 8 prompts",
        "seeds": f"{SEEDS}; of the two that are compared {MANY_SEEDS}",
        "budget": f"{BUDGET} full steps", "best": round(best, 3),
        "columns": "full steps of the median seed until its best schedule is so many dB below the "
        "best of the space, the full runs that are compared with not counted; null: never",
        "gaps": REGRETS,
    }  # fmt: skip


def draw(figures: dict, file: Path) -> None:
    """The regret of the median seed over the full steps: searches left, savings right."""
    regrets = figures["_regrets"]
    picture = Figure(figsize=(12, 4.5), dpi=110, layout="constrained")
    panels = picture.subplots(1, 2, sharey=True)
    groups = [name for name in regrets if name not in SAVINGS], [PAPER, *SAVINGS]
    for axes, names in zip(panels, groups, strict=True):
        for number, name in enumerate(names):
            dashes = ":" if number >= NUM_COLORS else "--"
            style = "-" if name in (PAPER, RECOMMENDED) else dashes
            axes.plot(COSTS, regrets[name], style, label=name)
        axes.set_xscale("log")
        axes.set_xlabel("transformer evaluations at full compute, all examples")
        axes.legend(fontsize=7)
    panels[0].set_ylabel("dB below the best schedule, median of the seeds")
    picture.savefig(file)
