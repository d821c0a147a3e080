"""Carry a schedule over to another number of steps or other noise levels.

A golden path belongs to the grid it was searched on. ``retarget`` proposes where its full steps lie
on another one. Nothing of that is measured on the user's model, so no speed takes it by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..schedule import Schedule
from .grids import Grids, grids_of, noise_levels
from .spacings import cheapest


def retarget(
    schedule: Schedule,
    source_sigmas: Sequence[float],
    target_sigmas: Sequence[float],
    min_anchors: int = 1,
) -> Schedule:
    """A schedule for the steps between ``target_sigmas``, made from one of another grid.

    It computes as much as the source above every noise level. A run that covers a part of the
    source's noise range (image to image, one of two experts) gets that part, with the part's ratio
    of full steps.

    Args:
        schedule: the source, of N₀ steps.
        source_sigmas: N₀ + 1 falling noise levels.
        target_sigmas: N + 1 falling noise levels; the last may be 0.
        min_anchors: full steps that the policy needs before the first cached one.

    Raises:
        ValueError: sigmas do not fall, do not fit the schedule, or are of two kinds of model.
    """
    if len(source_sigmas) != schedule.num_steps + 1:
        raise ValueError(
            f"a schedule of {schedule.num_steps} steps has {schedule.num_steps + 1} noise levels, "
            f"got {len(source_sigmas)}"
        )
    source, target = noise_levels(source_sigmas, target_sigmas)
    grids = grids_of(schedule, source, target, min_anchors)
    return nearest(_same_density(grids), grids)


def _same_density(grids: Grids) -> np.ndarray:
    """Fractional steps ``[F]`` with the source's density of full steps over the noise levels.

    Each full step of the source spreads 1 over its noise interval, a cached one 0. A step is full
    where the sum of that, scaled to F, crosses k + 1/2.
    """
    full = np.array(grids.source_full)
    sums = (np.arange(grids.num_full) + 0.5) * len(full) / grids.num_full
    steps = full[sums.astype(int)]
    begin, end = grids.source_levels[steps], grids.source_levels[steps + 1]
    levels = begin + (sums % 1) * (end - begin)
    positions = np.interp(-levels, -grids.target_levels, np.arange(len(grids.target_levels)))
    return positions - 0.5  # the middle of a step is that step


def nearest(wanted: np.ndarray, grids: Grids) -> Schedule:
    """The schedule nearest to fractional steps ``[F]`` in squared distance.

    It has the full steps that ``Grids`` asks for, and no cached run longer than the source's in
    noise level: longer by F₀/F where the run has fewer full steps, or the shortest possible.
    """
    steps = np.arange(grids.num_steps)
    runs, tail = _cached_runs(grids)
    placed = grids.first_full - 1
    longest = np.where(steps == placed, 0.0, math.inf)
    for _ in range(placed + 1, grids.num_full):
        longest = np.maximum(longest[:, None], runs).min(0)
    limit = max(grids.longest, float(np.maximum(longest, tail).min())) + 1e-9  # or what is possible
    runs, tail = np.where(runs > limit, math.inf, 0.0), np.where(tail > limit, math.inf, 0.0)
    distances = ((steps - place) ** 2 for place in wanted[placed + 1 : grids.num_full])
    chosen = cheapest(placed, runs, distances, tail)
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
