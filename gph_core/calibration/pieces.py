"""Pieces of the range of thresholds, as far as runs have uncovered them.

A *piece* is an interval of thresholds within which no example's run changes. No run is repeated.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .outcome import Outcome

# A run of one example, by its number, at a threshold.
Run = Callable[[int, float], Outcome]


class Piece(NamedTuple):
    """Interval of thresholds, above ``low`` up to ``high``, that give the same counts."""

    low: float
    high: float
    counts: tuple[int, ...]  # cached steps of each example

    @property
    def total(self) -> int:
        return sum(self.counts)


class StepFunctions:
    """The cached steps of each example by threshold, as far as they are known."""

    def __init__(
        self,
        run: Run,
        earlier: Iterable[tuple[int, Outcome]],
        on_run: Callable[[int, Outcome], None] | None,
    ) -> None:
        self._run, self._on_run = run, on_run
        self._outcomes: dict[int, list[Outcome]] = defaultdict(list)
        for example, outcome in earlier:
            self._outcomes[example].append(outcome)

    @property
    def num_runs(self) -> int:
        return sum(map(len, self._outcomes.values()))

    def piece(self, threshold: float, num_examples: int) -> Piece:
        """The piece of the first examples that contains a threshold."""
        outcomes = [self._outcome(example, threshold) for example in range(num_examples)]
        low, high = max(o.low for o in outcomes), min(o.high for o in outcomes)
        return Piece(low, high, tuple(o.num_cached for o in outcomes))

    def _outcome(self, example: int, threshold: float) -> Outcome:
        for outcome in self._outcomes[example]:
            if outcome.answers(threshold):
                return outcome
        outcome = self._run(example, threshold)
        if not outcome.answers(threshold):
            raise RuntimeError(
                f"a run at the threshold {threshold:g} says that it holds above {outcome.low:g}, "
                f"up to {outcome.high:g}"
            )
        self._outcomes[example].append(outcome)
        if self._on_run:
            self._on_run(example, outcome)
        return outcome


def best_piece(pieces: Iterable[Piece], target: float) -> Piece:
    """The piece nearest to a target; ties are broken as ``find_threshold`` says."""

    def order(piece: Piece) -> tuple[float, ...]:
        distance = abs(piece.total - target * len(piece.counts))
        return (
            distance,
            -sum(count == target for count in piece.counts),
            statistics.pstdev(piece.counts),
            piece.low,
        )

    return min(pieces, key=order)


def widened(piece: Piece, pieces: Iterable[Piece]) -> tuple[float, float]:
    """The interval of a piece, joined with those of neighbors that have the same counts."""
    low, high = piece.low, piece.high
    same = sorted(other for other in pieces if other.counts == piece.counts)
    for other in same:
        if other.low <= high:
            high = max(high, other.high)
    for other in reversed(same):
        if other.high >= low:
            low = min(low, other.low)
    return low, high


def middle(low: float, high: float) -> float:
    """A positive threshold well inside an interval: the geometric mean where that exists."""
    if high == math.inf:
        return 2 * low if low > 0 else 1.0
    if low <= 0:
        return high / 2
    mean = math.sqrt(low) * math.sqrt(high)
    return mean if low < mean <= high else high
