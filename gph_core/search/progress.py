"""Progress of a search: whether its units still bring a clear gain."""

from __future__ import annotations

import math

from .proposals import END_OF_UNIT, Score, Unit

STALLED = "two rounds in a row brought no clear gain; use another seed or algorithm to continue"


class SearchProgress:
    """Number of units in a row that brought less than 2 standard errors of the best mean.

    A unit that began before anything was scored is exempt, and so is a single example, which has no
    standard error.

    Source: seed paper, stopping rule; the exemptions are those of its program.

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
