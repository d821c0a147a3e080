"""Frequencies of schedules over many runs of an adaptive method."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..schedule import Schedule


@dataclass(frozen=True)
class Frequencies:
    """Runs of each schedule, most frequent first; of equals the one whose text comes first.

    Source: GPH paper, appendix on the schedules that adaptive methods choose.
    """

    counts: Mapping[Schedule, int]

    @classmethod
    def of(cls, schedules: Iterable[Schedule]) -> Frequencies:
        """Count the schedules of runs; ``ValueError`` for none, or different numbers of steps."""
        counts = Counter(schedules)
        lengths = sorted({schedule.num_steps for schedule in counts})
        if len(lengths) != 1:
            raise ValueError(
                "there are no runs to count"
                if not lengths
                else f"schedules of {' and '.join(map(str, lengths))} steps cannot be counted "
                "together; choose runs of one step count"
            )
        ordered = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
        return cls(dict(ordered))

    @property
    def runs(self) -> int:
        return sum(self.counts.values())

    def most_frequent(self, num_cached: int | None = None) -> Schedule:
        """The most frequent schedule, of those with so many cached steps if there are any."""
        exact = (s for s in self.counts if num_cached in (None, s.num_cached))
        return next(exact, next(iter(self.counts)))

    def top(self, r: int) -> float:
        """Share of the runs with one of the r most frequent schedules."""
        return sum(list(self.counts.values())[:r]) / self.runs

    @property
    def effective(self) -> float:
        """Number of equally frequent schedules with the same entropy: ``exp(-Σ p ln p)``."""
        shares = [count / self.runs for count in self.counts.values()]
        return math.exp(-sum(p * math.log(p) for p in shares))

    @property
    def cached_counts(self) -> dict[int, int]:
        """Number of runs by number of cached steps, in ascending order."""
        spread: Counter[int] = Counter()
        for schedule, count in self.counts.items():
            spread[schedule.num_cached] += count
        return dict(sorted(spread.items()))

    @property
    def mean_cached(self) -> float:
        return sum(k * count for k, count in self.cached_counts.items()) / self.runs
