"""Where the noise levels of a run lie among those of more steps."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..run.levels import SIGMA_TOLERANCE

# Noise levels that differ by no more than this part of the highest one are the same: schedulers
# that only round their table differently stay below it.
GRID_TOLERANCE = 0.005

# Devices round float32 differently by this much: places that differ by no more are equally near.
ROUNDING = 2.5e-7


def same_levels(levels: Sequence[float], others: Sequence[float]) -> bool:
    """Whether two lists of noise levels are the same but for rounding."""
    if len(levels) != len(others):
        return False
    # Without a generator: a run may ask this of a thousand paths.
    largest = max(map(abs, map(operator.sub, levels, others)), default=0.0)
    return largest <= GRID_TOLERANCE * max(levels, default=0)


def begin_in(levels: Sequence[float], part: Sequence[float]) -> int | None:
    """Where a list of noise levels has another list as a part; None if nowhere.

    The nearest place counts: with a large shift, the first levels differ by less than rounding.
    """
    size, last = len(part), len(levels) - len(part)
    if last < 0:
        return None
    whole, own = np.array(levels, float), np.array(part, float)
    best, nearest = None, math.inf
    # Only where the first level fits, so that the work is linear unless all levels are equal.
    begins = np.abs(whole[: last + 1] - own[0]) <= GRID_TOLERANCE * whole.max()
    for first in map(int, np.flatnonzero(begins)):
        there = whole[first : first + size]
        distance = float(np.abs(there - own).max())
        if distance <= GRID_TOLERANCE * there.max() and distance < nearest:
            best, nearest = first, distance
    return best


def places(sigmas: Sequence[float], total: int, grids: Iterable[Sequence[float]]) -> list[int]:
    """The steps of a grid at which a run can begin, judged by its noise levels.

    Only the nearest ones: at the beginning of a long schedule with a large shift, neighboring
    levels differ by less than rounding.

    Args:
        sigmas: of the run; a last one of zero is not compared, as it may be forced on the run.
        total: steps of the grids; those of another number are left out.
    """
    errors: dict[int, float] = {}
    for grid in grids:
        there = _errors(sigmas, grid) if len(grid) == total + 1 else np.empty(0)
        for first in map(int, np.flatnonzero(there <= SIGMA_TOLERANCE)):
            errors[first] = min(float(there[first]), errors.get(first, np.inf))
    nearest = min(errors.values(), default=0.0) + ROUNDING
    return sorted(first for first, error in errors.items() if error <= nearest)


def _errors(sigmas: Sequence[float], grid: Sequence[float]) -> np.ndarray:
    """For each step of a grid, the largest relative difference of a run that begins there."""
    compared = slice(-1 if sigmas[-1] == 0 else None)
    levels, whole = np.array(sigmas[compared], float), np.array(grid[compared], float)
    if len(levels) > len(whole):
        return np.empty(0)
    windows = sliding_window_view(whole, len(levels))
    return (np.abs(windows - levels) / np.maximum(windows, levels)).max(axis=1)
