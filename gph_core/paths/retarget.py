"""Carry a schedule over to another number of steps or other noise levels.

A golden path belongs to the grid it was searched on. ``retarget`` proposes where its full steps lie
on another one; nothing of that is measured for the user's model, and nobody may call it so.

Rounded to steps, proposals can collide or leave a long run of cached steps; see ``nearest``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..schedule import Schedule, uniform
from .grids import FIRST_FULL, MIN_FULL, Grids, grids_of, half_up, noise_levels
from .nearest import nearest


def num_full(num_steps: int, source_full: int, source_steps: int) -> int:
    """Full steps of a whole run at the cache ratio of a source: ``round(N F₀ / N₀)``.

    Halves are rounded up. At least ``MIN_FULL`` (or as many as the source has): with fewer there is
    no picture. Never more than there are steps.
    """
    floor = min(MIN_FULL, source_full)
    return min(num_steps, max(floor, half_up(num_steps * source_full / source_steps)))


def step_fraction(grids: Grids) -> Schedule:
    """The source's full steps at the same fraction n / (N - 1) of the run."""
    begin, end = grids.source_range
    stretch = (grids.num_steps - 1) / max(1, end - begin - 1)
    steps = _at_ranks(np.array(grids.source_full, float), grids)
    return nearest((steps - begin) * stretch, grids)


def noise_level(grids: Grids) -> Schedule:
    """The source's full steps at the same noise level."""
    levels = _at_ranks(grids.source_levels[list(grids.source_full)], grids)
    return nearest(_positions(levels, grids.target_levels), grids)


def density(grids: Grids) -> Schedule:
    """Steps with as much computation as in the source above every noise level.

    Each full step of the source spreads 1 over its noise interval, a cached one 0. Full are the
    steps in which that, accumulated and scaled to F, crosses k + 1/2.
    """
    full = np.array(grids.source_full)
    sums = (np.arange(grids.num_full) + 0.5) * len(full) / grids.num_full
    steps = full[sums.astype(int)]
    begin, end = grids.source_levels[steps], grids.source_levels[steps + 1]
    levels = begin + (sums % 1) * (end - begin)
    # Half a step earlier: what lies in the middle of a step is that step.
    return nearest(_positions(levels, grids.target_levels) - 0.5, grids)


def published_uniform(grids: Grids) -> Schedule:
    """The published uniform rule, three first steps full: of the source, only the count."""
    return _uniform(grids, FIRST_FULL)


def even(grids: Grids) -> Schedule:
    """Uniform spacing from step 0 to the last: of the source, only the count."""
    return _uniform(grids, 1)


PROPOSALS: dict[str, Callable[[Grids], Schedule]] = {
    "step fraction": step_fraction,
    "noise level": noise_level,
    "density": density,
    "uniform": published_uniform,
    "even": even,
}
DEFAULT_RULE = "density"


def retarget(
    schedule: Schedule,
    source_sigmas: Sequence[float],
    target_sigmas: Sequence[float],
    rule: str = DEFAULT_RULE,
    min_anchors: int = 1,
) -> Schedule:
    """A schedule for the steps between ``target_sigmas``, made from one of another grid.

    A run that covers a part of the source's noise range (image to image, one of two experts) gets
    that part, at the part's own ratio of full steps.

    Args:
        schedule: the source, of N₀ steps.
        source_sigmas: N₀ + 1 falling noise levels.
        target_sigmas: N + 1 falling noise levels; the last may be 0.
        rule: a name in ``PROPOSALS``.
        min_anchors: full steps that the policy needs before the first cached one.

    Raises:
        ValueError: sigmas that are no falling noise levels of such a schedule, or of two kinds of
            model; an unknown rule.
    """
    if rule not in PROPOSALS:
        raise ValueError(f"{rule!r} is not a rule; choose one of {', '.join(PROPOSALS)}")
    if len(source_sigmas) != schedule.num_steps + 1:
        raise ValueError(
            f"a schedule of {schedule.num_steps} steps has {schedule.num_steps + 1} noise levels, "
            f"got {len(source_sigmas)}"
        )
    source, target = noise_levels(source_sigmas, target_sigmas)
    return PROPOSALS[rule](grids_of(schedule, source, target, min_anchors))


def _at_ranks(values: np.ndarray, grids: Grids) -> np.ndarray:
    """F order statistics of the source's values, interpolated between them.

    The last of the forced first steps stands for the source's last one of these, so that three of
    50 weigh no more than one of 20; after it ranks are even.
    """
    forced = (grids.first_full - 1, grids.num_full - 1), (grids.source_first - 1, len(values) - 1)
    ranks = np.interp(np.arange(grids.num_full), *forced)
    return np.interp(ranks, np.arange(len(values)), values)


def _positions(wanted: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Positions of levels on a falling grid, as fractional steps."""
    return np.interp(-wanted, -grid, np.arange(len(grid)))


def _uniform(grids: Grids, first_full: int) -> Schedule:
    first_full = max(first_full, grids.min_anchors)
    if grids.last_full:
        return uniform(grids.num_steps, grids.num_full, first_full)
    # What comes after this run begins with a full step.
    longer = uniform(grids.num_steps + 1, grids.num_full + 1, first_full)
    return Schedule(longer.full_steps[:-1], grids.num_steps)
