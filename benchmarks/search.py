"""Transformer evaluations that each search needs to find the best schedule.

On a space of the demo model of which every schedule is scored (``_space``), so the best one is
known. The cost unit is a *full step*: one transformer evaluation at full compute of one example.
Every search runs with 20 seeds until it has found the best schedule. *annealing* has the settings
of the seed paper's comparison of searches, *recommended* those of Schedule Search: shorter chains,
states from which runs go on, racing. Warm starts are left out of both. Medians of 20 seeds differ
by a quarter, so these two are compared with 100. It takes five minutes, with ``-- --score`` ten
more to score the space anew, with ``-- --gap`` five more for what the latents of early steps tell,
with ``-- --dense`` half an hour more for searches of 50 steps (``_dense``).
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks import _demo, _dense, _gap, _results, _space
from benchmarks._courses import median_cost, median_regret, worst_end
from gph_core.schedule import Schedule
from gph_core.search.algorithms.table import ALGORITHMS, DEFAULT, Setup
from gph_core.search.budget import Budget
from gph_core.search.judge import Race
from gph_core.search.setup import SHORTEST_CHAIN
from gph_core.search.study import Measurement, Study

RESULTS = Path(__file__).parent / "results"
SEEDS = 20
MANY_SEEDS = 100
BUDGET = 60_000  # full steps: more than all 8 examples of 1000 schedules
REGRETS = (0.5, 0.2, 0.1, 0.05, 0.01)  # dB to the best schedule
BAR_REGRET, BAR_SHARE = 0.05, 1 / 3
NUM_COLORS = 10  # before matplotlib begins again
TRIFLE = 1e-9  # dB: the same mean, added up in another order
PAPER, RECOMMENDED = "annealing", "recommended"


@dataclass
class KnownScores:
    """Examples whose scores are looked up; with ``keeps_states``, shared first steps are free."""

    values: dict[Schedule, np.ndarray]
    keeps_states: bool
    _known: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)

    def __len__(self) -> int:
        return _space.PROMPTS

    def begin(self) -> None:
        """Do nothing: scores are looked up."""

    def forget(self) -> None:
        """Do nothing: no memory is kept."""

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        values = self.values[schedule]
        cost = sum(self._cost(schedule, example) for example in examples)
        return Measurement([{"psnr": float(values[e])} for e in examples], cost)

    def _cost(self, schedule: Schedule, example: int) -> int:
        full = schedule.full_steps
        prefixes = [(example, full[:count]) for count in range(1, len(full))]
        shared = sum(prefix in self._known for prefix in prefixes) if self.keeps_states else 0
        self._known.update(prefixes)
        return len(full) - shared


@dataclass(frozen=True)
class Variant:
    """A search with some of the savings."""

    algorithm: str
    num_proposals: int = 200  # of a chain, as in the seed paper's comparison
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench search", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--score", action="store_true", help="score the space anew")
    parser.add_argument("--gap", action="store_true", help="compare early gaps with the scores")
    parser.add_argument("--dense", action="store_true", help="search among 50 steps, too")
    options = parser.parse_args()
    _demo.begin()
    if options.score:
        _space.score()
    if options.gap:
        _gap.measure()
    if options.dense:
        _dense.measure()
    values = _space.load()
    best = max(float(v.mean()) for v in values.values())
    courses = {}
    for name, variant in VARIANTS.items():
        courses[name] = [variant.run(values, seed, best) for seed in range(SEEDS)]
        print(row(name, courses[name], best), flush=True)
    many = {
        name: [VARIANTS[name].run(values, seed, best) for seed in range(MANY_SEEDS)]
        for name in (PAPER, RECOMMENDED)
    }
    shares = {regret: ratio(many, best, regret) for regret in REGRETS}
    if options.save:
        save(courses, many, best)
    end = worst_end(courses[PAPER], best)
    print(f"\n{PAPER} ends at most {end:.3f} dB below the best, of {SEEDS} seeds")
    for regret, share in shares.items():
        ours, paper = (median_cost(many[n], best, regret) for n in (RECOMMENDED, PAPER))
        costs = f"({ours:.0f} of {paper:.0f})"
        print(f"to a median gap of {regret} dB, {RECOMMENDED} needs {share:.2f} of {PAPER} {costs}")
    return int(options.check and (end > BAR_REGRET or shares[BAR_REGRET] > BAR_SHARE))


def ratio(courses: dict[str, list], best: float, regret: float) -> float:
    """Median cost of the recommended search as a part of the paper's."""
    ours, paper = (median_cost(courses[name], best, regret) for name in (RECOMMENDED, PAPER))
    return ours / paper


def row(name: str, courses: list, best: float) -> str:
    costs = "".join(f"{median_cost(courses, best, regret):10.0f}" for regret in REGRETS)
    return f"{name:24}{costs}   worst end {worst_end(courses, best):.3f}"


def save(courses: dict[str, list], many: dict[str, list], best: float) -> None:
    """Write figures and picture, with their conditions."""
    conditions = {
        "model": "demo model",
        "space": "2380 schedules: 20 steps, 7 full, 0, 1 and 19 fixed, 8 prompts",
        "seeds": f"{SEEDS}; of the two that are compared {MANY_SEEDS}",
        "budget": f"{BUDGET} full steps", "best": round(best, 3),
        "columns": "full steps of the median seed until its best schedule is so many dB below the "
        "best of the space, the full runs that are compared with not counted; null: never",
        "gaps": REGRETS,
    }  # fmt: skip
    named = [*courses.items(), *((f"{name}, {MANY_SEEDS} seeds", many[name]) for name in many)]
    rows = [
        {
            "search": name,
            "full steps": [c if np.isfinite(c) else None for c in costs],
            "worst end": round(worst_end(found, best), 3),
        }
        for name, found in named
        for costs in [[median_cost(found, best, regret) for regret in REGRETS]]
    ]
    _results.write(RESULTS / "search.json", conditions, rows=rows)
    draw(courses, best)


def draw(courses: dict[str, list], best: float) -> None:
    """The regret of the median seed over the full steps: searches left, savings right."""
    from matplotlib.figure import Figure

    costs = np.geomspace(100, BUDGET, 200)
    picture = Figure(figsize=(12, 4.5), dpi=110, layout="constrained")
    panels = picture.subplots(1, 2, sharey=True)
    groups = (
        [name for name in courses if name not in SAVINGS],
        [PAPER, *(name for name in courses if name in SAVINGS)],
    )
    for axes, names in zip(panels, groups, strict=True):
        for number, name in enumerate(names):
            dashes = ":" if number >= NUM_COLORS else "--"
            style = "-" if name in (PAPER, RECOMMENDED) else dashes
            regrets = [median_regret(courses[name], best, cost) for cost in costs]
            axes.plot(costs, regrets, style, label=name)
        axes.set_xscale("log")
        axes.set_xlabel("transformer evaluations at full compute, all examples")
        axes.legend(fontsize=7)
    panels[0].set_ylabel("dB below the best schedule, median of the seeds")
    picture.savefig(RESULTS / "search.png")


if __name__ == "__main__":
    sys.exit(main())
