"""A schedule of the user's for a run that may be a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..policies.base import Policy
from ..run.noise_levels import SIGMA_TOLERANCE
from ..schedule import Schedule
from .choice import Choice

OWN = "your schedule"


def fit(
    schedule: Schedule,
    policy: Policy,
    sigmas: Sequence[float],
    sigma_max: float,
    continues: bool = False,
    grids: Iterable[Sequence[float]] = (),
    origin: str = OWN,
) -> Choice:
    """A given schedule for a run with these noise levels.

    A run of fewer steps than the schedule is a part of it: its first steps if it leaves noise, its
    last ones if it goes on with latents that have some, and if it does both, those that have its
    noise levels in one of the grids. Two experts, or any number of samplers in a row, so share one
    schedule.

    Args:
        schedule: of all steps.
        policy: of the run; a part begins with the full steps that it needs.
        sigmas: of the steps of this run.
        sigma_max: of pure noise.
        continues: no noise is added before the first step.
        grids: noise levels of all steps, as schedulers have them; read only for a run in the
            middle.
        origin: where the schedule comes from.

    Raises ``ValueError`` for a run in the middle whose noise levels are in none of the grids.
    """
    count, total, share = len(sigmas) - 1, schedule.num_steps, sigmas[0] / sigma_max
    leaves_noise = sigmas[-1] > 0
    goes_on = continues or share < 0.95  # some schedulers begin a little below pure noise
    if count >= total or not (leaves_noise or goes_on):
        return Choice(schedule, origin, policy)
    if leaves_noise and goes_on:
        first = _begin(sigmas, total, grids)
    else:
        first = 0 if leaves_noise else total - count
    words = f"steps {first} to {first + count - 1} of {origin} {schedule}"
    own = policy.part(first, count)
    part = own.covered(schedule.part(first, count, policy.min_anchors))
    return Choice(part, words, own)


def _begin(sigmas: Sequence[float], total: int, grids: Iterable[Sequence[float]]) -> int:
    """Step of the first grid of ``total`` steps that has a run's noise levels where it begins."""
    size = len(sigmas)
    for grid in grids:
        if len(grid) != total + 1:
            continue
        for first in range(total + 2 - size):
            pairs = zip(grid[first : first + size], sigmas, strict=True)
            if all(abs(level - sigma) <= SIGMA_TOLERANCE * sigma for level, sigma in pairs):
                return first
    raise ValueError(
        f"the sampler runs {size - 1} steps from the middle of a schedule of {total}, and which "
        f"ones cannot be told: no scheduler of ComfyUI has its noise levels ({sigmas[0]:g} to "
        f"{sigmas[-1]:g}) among those of {total} steps; set the schedule to the step count of all "
        f"samplers together, or give this sampler a schedule of {size - 1} steps of its own"
    )
