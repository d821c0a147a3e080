"""Choice for a run that no path fits: a rule for its schedule and, where it is free, its policy."""

from __future__ import annotations

import itertools

from ..policies.damped_velocity import DampedVelocity
from .conditions import Choice, Conditions
from .grids import MAX_STEPS
from .spacings import damped_spacing, noise_spacing, spacing

SPACED = "spacing by noise level"
REUSED = "residual reuse predicts the cached steps, not damped velocity"
FAR = "the gaps between full steps are too long for it at this guidance"
NOISE = "it cannot follow the noise that the sampler adds between steps"
LONG = "the gaps between full steps are long for this guidance; more full steps are safer"


def choose_without_path(run: Conditions, num_full: int) -> Choice:
    """Spacing by noise level; uniform spacing where the noise levels do not fall."""
    anchors = run.policy.min_anchors
    falls = all(a > b for a, b in itertools.pairwise(run.sigmas)) and run.sigmas[-1] >= 0
    if not falls or run.num_steps > MAX_STEPS:
        return Choice(spacing(run.num_steps, num_full, anchors), "uniform spacing", run.policy)
    damped, note = _damped(run, num_full) if run.is_free else (None, "")
    if damped:
        return damped
    spaced = noise_spacing(run.sigmas, num_full, run.halfway, run.guidance != 1, anchors)
    return Choice(spaced, SPACED, run.policy, note=note)


def _damped(run: Conditions, num_full: int) -> tuple[Choice | None, str]:
    """The choice of damped velocity; None where residual reuse is better, and why in words."""
    policy = DampedVelocity(run.guidance, run.halfway, run.is_multistep)
    if run.is_stochastic:
        return None, f"{REUSED}: {NOISE}"
    if reason := run.refusal(policy):
        return None, f"{REUSED}: {reason.partition(';')[0]}"
    spaced = damped_spacing(run.sigmas, num_full, run.halfway, run.guidance)
    is_far = policy.is_far(spaced, run.sigmas)
    if is_far and run.refusal(run.policy) is None:
        return None, f"{REUSED}: {FAR}"
    return Choice(spaced, SPACED, policy, note=LONG if is_far else ""), ""
