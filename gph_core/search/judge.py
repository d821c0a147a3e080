"""From the known metrics of a schedule to its score; a race drops hopeless schedules early."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cache

from scipy.stats import t

from ..quality.objective import Metrics, NotANumberError, Objective
from .proposals import Proposal, Score

# Of a schedule that breaks the guard, or whose images hold NaN: worse than any other.
UNUSABLE = Score((-math.inf,), is_whole=False)


class Judge:
    """Scores under one objective.

    Args:
        examples: as many as a whole score has values.
        race: how hopeless schedules are dropped; None: all examples are needed.
    """

    def __init__(self, examples: Sized, objective: Objective, race: Race | None) -> None:
        self._examples, self._objective, self._race = examples, objective, race
        self._spread = DifferenceSpread()

    def judge(self, proposal: Proposal, metrics: Mapping[int, Metrics]) -> Score | list[int]:
        """The score, or the examples to run first: all at once, or in a race group by group."""
        try:
            return self._compare(proposal, metrics)
        except NotANumberError:
            return UNUSABLE

    def is_lost(self, values: Sequence[float], rival: Score, lead: float) -> bool:
        """Whether the race drops a schedule with these first values."""
        return self._race is not None and self._race.is_lost(values, rival, lead, self._spread)

    def remember(self, score: Score, rival: Score) -> None:
        """Count a comparison, which tells later ones how much differences vary."""
        self._spread.add(paired(score.values, rival))

    def _compare(self, proposal: Proposal, metrics: Mapping[int, Metrics]) -> Score | list[int]:
        _, rival, lead = proposal
        count = len(self._examples)
        group = self._race.group if self._race and rival else count
        for end in range(group, count, group):
            missing = [e for e in range(end) if e not in metrics]
            if missing:
                return missing
            values = self._values(metrics, end)
            if rival and self.is_lost(values, rival, lead):
                return Score(values, is_whole=False)
        if missing := [e for e in range(count) if e not in metrics]:
            return missing
        values = self._values(metrics, count)
        is_kept = self._objective.guard.holds([metrics[e] for e in range(count)])
        return Score(values) if is_kept else UNUSABLE

    def _values(self, metrics: Mapping[int, Metrics], end: int) -> tuple[float, ...]:
        return tuple(self._objective.value(metrics[e]) for e in range(end))


@dataclass(slots=True)
class DifferenceSpread:
    """Spread over examples of the differences between schedules, pooled over a study.

    Two examples say little about it, all comparisons of a study together enough.
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
    """A race: after each group of examples, the paired differences to the rival decide.

    Args:
        group: examples that are run at once.
        confidence: one-sided, that dropping is right; a larger one drops later.
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
    """Differences to the rival on the examples seen so far."""
    return [a - b for a, b in zip(values, rival.values, strict=False)]


@cache
def _reach(confidence: float, degrees: int) -> float:
    """Student's quantile; cached, as a study needs the same few again and again."""
    return float(t.ppf(confidence, degrees))
