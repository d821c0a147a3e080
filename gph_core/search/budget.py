"""When a study ends: its budget is spent, or its search brings no clear gain any more."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..quality.objective import Metrics
from ..schedule import Schedule
from .proposals import END_OF_UNIT, Score, Unit


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a study; the first one that is reached ends it."""

    evaluations: float = math.inf  # different schedules
    full_steps: float = math.inf  # transformer evaluations at full compute, over all examples
    seconds: float = math.inf

    def share(self, share: float) -> Budget:
        """A part of it."""
        return Budget(share * self.evaluations, share * self.full_steps, share * self.seconds)

    def part(self, evaluations: float, full_steps: float, seconds: float) -> float:
        """Which part of the budget these are."""
        return max(
            evaluations / self.evaluations, full_steps / self.full_steps, seconds / self.seconds
        )


@dataclass(slots=True)
class Asked:
    """Measurements that a search has asked for, new or known: the same in every run."""

    metrics: dict[Schedule, dict[int, Metrics]] = field(default_factory=dict)
    full_steps: float = 0.0  # cost, whenever it was measured
    seconds: float = 0.0


STALLED = "two rounds in a row brought no clear gain; use another seed or algorithm to continue"


class SearchProgress:
    """Counts units in a row that gain less than 2 standard errors of the best mean.

    A unit that began before anything was scored is exempt, and so is a single example, which has no
    standard error. Source: GPH paper, stopping rule; the exemptions are those of its program.

    Args:
        best: the best score before the search.
    """

    def __init__(self, best: Score | None) -> None:
        self._baseline = _mean(best)  # where the unit began
        self._num_stalled = 0

    @property
    def is_stalled(self) -> bool:
        """Whether the last two units brought no clear gain."""
        return self._num_stalled >= 2

    def mark(self, unit: Unit, best: Score | None) -> None:
        """Count a unit that ends here; the next one begins with this best score."""
        if unit is END_OF_UNIT:
            self._num_stalled = self._num_stalled + 1 if self._is_without_gain(best) else 0
        self._baseline = _mean(best)

    def _is_without_gain(self, best: Score | None) -> bool:
        if best is None or self._baseline == -math.inf or len(best.values) < 2:
            return False
        return best.mean - self._baseline < 2 * best.standard_error


def _mean(score: Score | None) -> float:
    return score.mean if score else -math.inf
