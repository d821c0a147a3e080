"""Choice for a run that no path fits: a rule for its schedule and, where it is free, its policy."""

from __future__ import annotations

import itertools

from ..policies.damped_velocity import DampedVelocity
from .conditions import Choice, Conditions
from .grids import MAX_STEPS
from .spacings import damped_spacing, noise_spacing, spacing

SPACED = "spacing by noise level"
REUSED = "cached steps repeat residuals"
NOISE = "damped velocity cannot follow the noise that this sampler adds"
TOO_LONG = (
    "at this guidance the gaps between full steps are too long for damped velocity, and the image "
    "may differ clearly from the full one; keep more steps full, or let the node learn"
)
LONG = "at this guidance the gaps between full steps are long; more full steps are safer"


def choose_without_path(run: Conditions, num_full: int) -> Choice:
    """Spacing by noise level; uniform spacing where the noise levels do not fall."""
    anchors = run.policy.min_anchors
    falls = all(a > b for a, b in itertools.pairwise(run.sigmas)) and run.sigmas[-1] >= 0
    if not falls or run.num_steps > MAX_STEPS:
        even = spacing(run.num_steps, num_full, anchors)
        return Choice(even, "uniform spacing", run.policy)  # which nothing can be learned for
    damped, reason = _damped(run, num_full) if run.is_free else (None, "")
    if damped:
        return damped
    is_guided = run.guidance != 1
    spaced = noise_spacing(run.sigmas, num_full, run.halfway, is_guided, anchors, run.sigma_max)
    note = f"{REUSED}: {reason}" if reason and spaced.num_cached else ""
    return Choice(spaced, SPACED, run.policy, note=note, is_ruled=run.is_free)


def _damped(run: Conditions, num_full: int) -> tuple[Choice | None, str]:
    """The choice of damped velocity; None where residual reuse is better, and why in words."""
    policy = run.told(DampedVelocity())
    assert isinstance(policy, DampedVelocity)
    if run.is_stochastic:
        return None, NOISE
    if reason := run.incompatibility(policy):
        return None, reason.partition(";")[0]
    spaced = damped_spacing(run.sigmas, num_full, run.halfway, run.guidance, run.sigma_max)
    is_far = policy.is_far(spaced, run.sigmas)
    if is_far and run.incompatibility(run.policy) is None:
        return None, TOO_LONG
    note = LONG if is_far else ""
    return Choice(spaced, SPACED, policy, note=note, is_ruled=True), ""
