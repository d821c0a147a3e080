"""A schedule of the user's for a run that may be a part of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..policies.base import Policy
from ..schedule import Schedule
from .choice import Choice


def fit(
    schedule: Schedule,
    policy: Policy,
    sigmas: Sequence[float],
    sigma_max: float,
    continues: bool = False,
) -> Choice:
    """A user's schedule for a run with these noise levels.

    A run of fewer steps than the schedule is a part of it: its first steps if it leaves noise, its
    last ones if it goes on with latents that have some. Two experts, or two samplers in a row, so
    share one schedule.

    Args:
        schedule: of all steps.
        policy: of the run; a part begins with the full steps that it needs.
        sigmas: of the steps of this run.
        sigma_max: of pure noise.
        continues: no noise is added before the first step.
    """
    count, total, share = len(sigmas) - 1, schedule.num_steps, sigmas[0] / sigma_max
    leaves_noise = sigmas[-1] > 0
    goes_on = continues or share < 0.95  # some schedulers begin a little below pure noise
    is_part = leaves_noise != goes_on
    if count >= total or not is_part:
        return Choice(schedule, "your schedule", policy)
    first = 0 if leaves_noise else total - count
    origin = f"steps {first} to {first + count - 1} of your schedule {schedule}"
    own = policy.part(first, count)
    part = own.covered(schedule.part(first, count, policy.min_anchors))
    return Choice(part, origin, own)
