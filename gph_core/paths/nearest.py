"""The schedule nearest to a proposal, in squared distance.

It is chosen among those with the right number of full steps, the forced ones, and no cached run
longer than the source's in noise level (longer by F₀/F where the run has fewer full steps; the
shortest possible where that cannot be).
"""

from __future__ import annotations

import math

import numpy as np

from ..schedule import Schedule
from .grids import Grids


def nearest(wanted: np.ndarray, grids: Grids) -> Schedule:
    """The schedule nearest to fractional steps ``[F]`` that keeps what ``Grids`` asks for."""
    steps = np.arange(grids.num_steps)
    runs, tail = _cached_runs(grids)
    # As the k-th full step is chosen, the least cost of a schedule that has it at each step.
    placed = grids.first_full - 1
    longest = np.where(steps == placed, 0.0, math.inf)
    for _ in range(placed + 1, grids.num_full):
        longest = np.maximum(longest[:, None], runs).min(0)
    limit = max(grids.longest, float(np.maximum(longest, tail).min())) + 1e-9  # or what is possible
    runs, tail = np.where(runs > limit, math.inf, 0.0), np.where(tail > limit, math.inf, 0.0)
    cost, before = np.where(steps == placed, 0.0, math.inf), []
    for k in range(placed + 1, grids.num_full):
        ways = cost[:, None] + runs
        before.append(ways.argmin(0))
        cost = ways.min(0) + (steps - wanted[k]) ** 2
    chosen = [int((cost + tail).argmin())]
    for earlier in reversed(before):
        chosen.append(int(earlier[chosen[-1]]))
    return Schedule((*range(placed), *chosen), grids.num_steps)


def _cached_runs(grids: Grids) -> tuple[np.ndarray, np.ndarray]:
    """Noise-level distance between full steps ``[N, N]``, and from the last one to the end ``[N]``.

    0 where no step between is cached, infinite where there is no way.
    """
    level, steps = grids.target_levels, np.arange(grids.num_steps)
    ahead = steps[None, :] - steps[:, None]
    runs = np.where(ahead > 1, level[:-1, None] - level[None, :-1], 0.0)
    runs[ahead < 1] = math.inf
    tail = level[:-1] - level[-1]
    tail[-1] = 0.0
    if grids.last_full:
        tail[:-1] = math.inf
    return runs, tail
