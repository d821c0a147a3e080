"""Racing: a schedule that will not beat its rival is dropped before all examples are run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from scipy.stats import t

from .proposals import Score


@dataclass(slots=True)
class DifferenceSpread:
    """Variation of the differences between two schedules over the examples, in one study.

    Two examples say little about it. All comparisons of a study together say enough.
    """

    squares: float = 0.0  # sum of squared deviations from each comparison's mean
    degrees: int = 0  # of freedom

    def add(self, differences: Sequence[float]) -> None:
        """Count one more comparison."""
        if len(differences) > 1:
            self.squares += statistics.variance(differences) * (len(differences) - 1)
            self.degrees += len(differences) - 1


@dataclass(frozen=True, slots=True)
class Race:
    """Examples are run in groups; after each, the paired differences to the rival decide.

    Args:
        group: examples that are run at once.
        confidence: one-sided, of dropping rightly; larger drops later.
    """

    group: int = 2
    confidence: float = 0.99

    def is_lost(
        self, values: Sequence[float], rival: Score, lead: float, spread: DifferenceSpread
    ) -> bool:
        """Whether the mean over all examples will not be above the rival's plus ``lead``.

        The examples form a finite population of m, of which j are seen: the mean difference over
        all has the standard error ``s sqrt((m - j) / (m j))`` around that of the j. The variance
        s² is pooled over this comparison and the former ones of the study; the bound is Student's
        with the degrees of freedom of all of them.
        """
        seen, count = len(values), len(rival.values)
        own = DifferenceSpread(spread.squares, spread.degrees)
        own.add(differences := paired(values, rival))
        if not 0 < seen < count or own.degrees < 1:
            return False
        deviation = math.sqrt(own.squares / own.degrees)
        error = deviation * math.sqrt((count - seen) / (count * seen))
        return statistics.fmean(differences) + _reach(self.confidence, own.degrees) * error <= lead


def paired(values: Sequence[float], rival: Score) -> list[float]:
    """Differences to the rival on the examples that are seen."""
    return [a - b for a, b in zip(values, rival.values, strict=False)]


@cache
def _reach(confidence: float, degrees: int) -> float:
    """Student's quantile; remembered, because a study asks for the same few again and again."""
    return float(t.ppf(confidence, degrees))
