"""Where the noise levels of a run lie among those of more steps."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..run.levels import SIGMA_TOLERANCE

# Largest difference of noise levels that count as the same, of the highest: schedulers that only
# round their table differently stay below it.
GRID_TOLERANCE = 0.005

# Float32 rounds so much on different devices: places that differ by no more are equally near.
ROUNDING = 2.5e-7


def same_levels(levels: Sequence[float], others: Sequence[float]) -> bool:
    """Whether two lists of noise levels are the same but for rounding."""
    if len(levels) != len(others):
        return False
    # Without a generator, as a run may ask this of a thousand paths.
    largest = max(map(abs, map(operator.sub, levels, others)), default=0.0)
    return largest <= GRID_TOLERANCE * max(levels, default=0)


def begin_in(levels: Sequence[float], part: Sequence[float]) -> int | None:
    """Where a part of a list of noise levels begins in it; None if the levels are others.

    The nearest place: with a large shift, the first levels differ by less than rounding may.
    """
    size, last = len(part), len(levels) - len(part)
    if last < 0:
        return None
    known, own = np.array(levels, float), np.array(part, float)
    found, nearest = None, math.inf
    # Only where the first level fits, so that the work is linear but for levels all of one height.
    begins = np.abs(known[: last + 1] - own[0]) <= GRID_TOLERANCE * known.max()
    for first in map(int, np.flatnonzero(begins)):
        there = known[first : first + size]
        distance = float(np.abs(there - own).max())
        if distance <= GRID_TOLERANCE * there.max() and distance < nearest:
            found, nearest = first, distance
    return found


def places(sigmas: Sequence[float], total: int, grids: Iterable[Sequence[float]]) -> list[int]:
    """The steps at which a run can begin to have the noise levels of one of the grids.

    Only the nearest ones: where a long schedule with a large shift begins, two levels in a row
    differ by less than rounding may.

    Args:
        sigmas: of the run; a last one of zero may be forced on it, so it is not compared.
        total: steps of the grids; those of another number are left out.
    """
    errors: dict[int, float] = {}
    for grid in grids:
        found = _errors(sigmas, grid) if len(grid) == total + 1 else np.empty(0)
        for first in map(int, np.flatnonzero(found <= SIGMA_TOLERANCE)):
            errors[first] = min(float(found[first]), errors.get(first, np.inf))
    nearest = min(errors.values(), default=0.0) + ROUNDING
    return sorted(first for first, error in errors.items() if error <= nearest)


def _errors(sigmas: Sequence[float], grid: Sequence[float]) -> np.ndarray:
    """Largest relative difference to a grid of a run that begins at each of its steps."""
    compared = slice(-1 if sigmas[-1] == 0 else None)
    levels, known = np.array(sigmas[compared], float), np.array(grid[compared], float)
    if len(levels) > len(known):
        return np.empty(0)
    windows = sliding_window_view(known, len(levels))
    return (np.abs(windows - levels) / np.maximum(windows, levels)).max(axis=1)
