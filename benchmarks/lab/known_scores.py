"""Searches on a fully scored space, and their courses.

A course lists the full steps spent and the best mean after each improvement of a search. The
regret is how far, in dB, a mean is below that of the best schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.study import Measurement

TRIFLE = 1e-9  # dB: the same mean, added up in another order


@dataclass
class KnownScores:
    """Examples whose scores are looked up; with ``keeps_states``, shared first steps are free."""

    values: Mapping[Schedule, Sequence[float] | np.ndarray]
    keeps_states: bool = False
    _known: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

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


def cost_of_regret(course: list[tuple[float, float]], best: float, regret: float) -> float:
    """Full steps until a course is within a regret of the best; infinite if never."""
    return next((cost for cost, mean in course if best - mean <= regret), np.inf)


def median_cost(courses: list, best: float, regret: float) -> float:
    """Median over the seeds of the full steps to a regret."""
    return float(np.median([cost_of_regret(course, best, regret) for course in courses]))


def worst_end(courses: list, best: float) -> float:
    """Largest final regret of any seed."""
    return max(best - course[-1][1] for course in courses)


def median_regret(courses: list, best: float, cost: float) -> float:
    """Regret of the median seed at a cost; NaN until every seed has a score."""
    regrets = [
        min((best - mean for spent, mean in course if spent <= cost), default=np.nan)
        for course in courses
    ]
    return float(np.median(regrets))
