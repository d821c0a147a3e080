"""The threshold at which a wanted number of steps is cached, on average over examples.

What a run tells is in ``outcome``, the intervals of thresholds that runs uncover in ``pieces``.

The search brackets the place where the mean crosses the target and halves the bracket, first on a
few examples, then on all, then compares the pieces around the best one.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .outcome import Outcome
from .pieces import Piece, Run, StepFunctions, best_piece, middle, widened

# Factor by which the threshold grows in search of a bracket, and the bracket's relative width in
# the end. The few examples only show roughly where to look; among all, each piece counts. Where
# runs cannot be repeated exactly, pieces have no clear edges, so narrower brackets mean nothing.
FEW = (2.0, 0.01)
ALL = (1.1, 1e-6)
NUM_FEW = 8  # examples of the first, coarse search
AROUND = 4  # neighboring pieces on either side that are compared in the end

# Growths without success before asking what an infinite threshold gives.
PATIENCE = 3

# Distance of a mean from its target, in steps, from which on a note says so: as far as it usually
# drifts on other examples.
NEAR = 0.5


@dataclass(frozen=True, slots=True)
class FoundThreshold:
    """A threshold and what it gave."""

    target: float
    threshold: float  # in the middle of the interval, by ratio
    low: float  # exclusive: above it, up to ``high``, the counts are known to stay the same
    high: float
    counts: tuple[int, ...]  # cached steps of each example
    num_runs: int  # of all examples together, earlier ones included
    note: str  # why the target was not reached; empty if it was

    @property
    def mean(self) -> float:
        return statistics.fmean(self.counts)

    @property
    def spread(self) -> float:
        """Standard deviation of the counts as a population."""
        return statistics.pstdev(self.counts)

    @property
    def exact(self) -> float:
        """Share of the examples that cache exactly as many steps as wanted."""
        return statistics.fmean(count == self.target for count in self.counts)

    @property
    def histogram(self) -> dict[int, int]:
        """Number of examples by their number of cached steps."""
        return dict(sorted(Counter(self.counts).items()))


class OutOfReach(ValueError):
    """No threshold of a method caches so many steps."""


def find_threshold(
    run: Run,
    num_examples: int,
    target: float,
    *,
    start: float = 0.1,
    max_cached: int | None = None,
    earlier: Iterable[tuple[int, Outcome]] = (),
    on_run: Callable[[int, Outcome], None] | None = None,
) -> FoundThreshold:
    """The threshold whose mean number of cached steps is nearest to a target.

    Of equally near ones it takes that with more examples at exactly the target, then that with the
    smaller spread, then the smaller threshold. If no example caches fewer steps at a larger
    threshold, the result is the best of all thresholds, up to a width of 1e-6 of it. Otherwise the
    mean may cross the target in several places, and the result is the best around one of them: no
    better one is among the ``AROUND`` neighboring pieces on either side.

    Everything depends on the outcomes of runs alone. So an exception in ``run`` can cancel the
    search, and a later call goes on from the outcomes that were reported.

    Args:
        run: gives the outcome of one example; its interval must contain the threshold, which may
            be infinite.
        target: in steps, 0 or more, possibly a fraction.
        start: a positive guess.
        max_cached: largest number of steps that can be cached, if known.
        earlier: outcomes of earlier runs, with the numbers of their examples.
        on_run: receives each new outcome.

    Raises:
        OutOfReach: so many steps cannot be cached.
        ValueError: there are no examples, or ``start`` is not positive.

    Source: GPH paper, calibration of thresholds, its "mean first" rule; there on a given list of
    thresholds.
    """
    if num_examples < 1 or not (start > 0 and math.isfinite(start)):
        raise ValueError(
            f"a threshold is found on 1 example or more, from a positive guess; "
            f"got {num_examples} examples and {start:g}"
        )
    if target < 0 or (max_cached is not None and target > max_cached):
        most = "" if max_cached is None else f", at most {max_cached} can be cached"
        raise OutOfReach(f"{target:g} cached steps are out of reach{most}; choose another number")
    functions = StepFunctions(run, earlier, on_run)
    if num_examples > NUM_FEW:
        piece = _crossing(lambda t: functions.piece(t, NUM_FEW), target * NUM_FEW, start, *FEW)
        start, growth = middle(piece.low, piece.high), ALL[0]
    else:
        growth = FEW[0]
    seen: dict[Piece, None] = {}  # pieces of all examples, in the order of their discovery

    def at(threshold: float) -> Piece:
        piece = functions.piece(threshold, num_examples)
        seen[piece] = None
        return piece

    _crossing(at, target * num_examples, start, growth, ALL[1])
    best, former = best_piece(seen, target), None
    while best != former:
        _uncover_neighbors(at, best, AROUND)
        best, former = best_piece(seen, target), best
    low, high = widened(best, seen)
    note = _note(best, seen, target)
    return FoundThreshold(
        target, middle(low, high), low, high, best.counts, functions.num_runs, note
    )


def _crossing(
    at: Callable[[float], Piece], wanted: float, start: float, growth: float, width: float
) -> Piece:
    """The piece with the wanted total, else the nearer of the two between which it is crossed.

    If it is never crossed, the piece at the end.
    """
    below = above = None
    threshold, growths = start, 0
    while below is None or above is None:
        piece = at(threshold)
        if piece.total == wanted:
            return piece
        if piece.total > wanted:
            above = piece
            if piece.low <= 0:
                return piece
            threshold /= growth
        else:
            below = piece
            if piece.high == math.inf:
                return piece
            growths += 1
            if growths == PATIENCE and (last := at(math.inf)).total <= wanted:
                return last
            threshold *= growth
    while above.low > below.high * (1 + width):
        piece = at(middle(below.high, above.low))
        if piece.total == wanted:
            return piece
        if piece.total > wanted:
            above = piece
        else:
            below = piece
    return below if wanted - below.total < above.total - wanted else above


def _uncover_neighbors(at: Callable[[float], Piece], piece: Piece, count: int) -> None:
    """Look at the next pieces on either side."""
    above = below = piece
    for _ in range(count):
        if above.high < math.inf:
            above = at(math.nextafter(above.high, math.inf))
        if below.low > 0:
            below = at(below.low)


def _note(best: Piece, pieces: Iterable[Piece], target: float) -> str:
    mean = statistics.fmean(best.counts)
    if abs(mean - target) <= NEAR:
        return ""
    is_at_end = any(piece.high == math.inf for piece in pieces)
    if is_at_end and all(piece.total < target * len(piece.counts) for piece in pieces):
        return f"even an infinite threshold caches only {mean:g} on average, not {target:g}"
    if best.low <= 0 and mean > target:
        return f"even the smallest threshold caches {mean:g} on average, not {target:g}"
    return f"the number of cached steps jumps over {target:g}; the nearest is {mean:g} on average"
