"""Carry a schedule over to another number of steps or other noise levels.

A golden path belongs to the grid it was searched on. ``retarget`` proposes where its full steps lie
on another one, for those who ask for it; nothing of that is measured for the user's model, nobody
may call it so, and no speed takes it by itself.

Rounded to steps, proposals can collide or leave a long run of cached steps; see ``nearest``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..schedule import Schedule
from .grids import MIN_FULL, Grids, grids_of, half_up, noise_levels


def num_full(num_steps: int, source_full: int, source_steps: int) -> int:
    """Full steps of a whole run at the cache ratio of a source: ``round(N F₀ / N₀)``.

    Halves are rounded up. At least ``MIN_FULL`` (or as many as the source has): with fewer there is
    no picture. Never more than there are steps.
    """
    floor = min(MIN_FULL, source_full)
    return min(num_steps, max(floor, half_up(num_steps * source_full / source_steps)))


def retarget(
    schedule: Schedule,
    source_sigmas: Sequence[float],
    target_sigmas: Sequence[float],
    min_anchors: int = 1,
) -> Schedule:
    """A schedule for the steps between ``target_sigmas``, made from one of another grid.

    It has as much computation as the source above every noise level. A run that covers a part of
    the source's noise range (image to image, one of two experts) gets that part, at the part's own
    ratio of full steps.

    Args:
        schedule: the source, of N₀ steps.
        source_sigmas: N₀ + 1 falling noise levels.
        target_sigmas: N + 1 falling noise levels; the last may be 0.
        min_anchors: full steps that the policy needs before the first cached one.

    Raises:
        ValueError: sigmas that are no falling noise levels of such a schedule, or of two kinds of
            model.
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

    Each full step of the source spreads 1 over its noise interval, a cached one 0. Full are the
    steps in which that, accumulated and scaled to F, crosses k + 1/2.
    """
    full = np.array(grids.source_full)
    sums = (np.arange(grids.num_full) + 0.5) * len(full) / grids.num_full
    steps = full[sums.astype(int)]
    begin, end = grids.source_levels[steps], grids.source_levels[steps + 1]
    levels = begin + (sums % 1) * (end - begin)
    positions = np.interp(-levels, -grids.target_levels, np.arange(len(grids.target_levels)))
    # Half a step earlier: what lies in the middle of a step is that step.
    return positions - 0.5


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
