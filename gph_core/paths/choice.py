"""Choice of the schedule that a run takes: the first of these that there is.

1. A path with weights that were fitted under the same conditions, or for a CFG near it; of several,
   the one of the nearest CFG, then the one that was fitted to most examples.
2. A path that was searched under the same conditions: model, noise levels, full steps, policy.
3. One that was published for the same model, noise levels and number of full steps.
4. The part of such a path that the run covers, if it continues another run or is continued.
5. A rule, with a policy of its own if none is connected: ``without_path``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..policies.base import Policy
from ..policies.damped_velocity import DampedVelocity
from ..policies.extrapolation import Reuse
from ..policies.fitted import Fitted
from ..policies.mean_velocity import MeanVelocity
from ..schedule import Schedule
from .conditions import Choice, Conditions
from .evidence import evidence
from .golden_path import LEARNED, PUBLISHED, SEARCHED, SHARED, WITH_PACK, GoldenPath
from .places import begin_in, same_levels
from .without_path import choose_without_path

# How far the cache ratios of a part and of a speed may be apart: few steps round much.
NEAR_RATIO = 0.05


def choose(
    run: Conditions, num_full: int, paths: Sequence[GoldenPath], cache_ratio: float | None = None
) -> Choice:
    """The schedule of a run, by the order of this module.

    Args:
        run: its conditions.
        num_full: wanted number of full steps.
        paths: the user's first, then the bundled ones; among equals the earlier one is taken.
        cache_ratio: wanted K / N, where ``num_full`` is only its rounded form.
    """
    if fitted := choose_fitted(run, num_full, paths):
        return fitted
    ranked = ((_rank(run.policy, path), path) for path in paths if run.is_model_of(path))
    fitting = [(path.origin == PUBLISHED, rank, path) for rank, path in ranked if rank]
    candidates = [path for *_, path in sorted(fitting, key=lambda item: item[:2])]
    for path in candidates:
        if path.schedule.num_full == num_full and same_levels(path.sigmas, run.sigmas):
            return _taken(run, path, path.schedule, provenance(path))
    ratio = 1 - num_full / run.num_steps if cache_ratio is None else cache_ratio
    for path in candidates:
        is_near = abs(path.schedule.cache_ratio - ratio) < NEAR_RATIO
        first = _begin_in(run, path) if is_near else None
        if first is not None:
            steps = f"steps {first} to {first + run.num_steps - 1} of"
            part = path.schedule.part(first, run.num_steps, run.policy.min_anchors)
            taken = _taken(run, path, part, f"{steps} {provenance(path)}")
            return taken._replace(wanted=num_full)
    return choose_without_path(run, num_full)


def _begin_in(run: Conditions, path: GoldenPath) -> int | None:
    """First step of the part of a path that a run covers; None if it covers none.

    Image to image covers none: it begins with new noise, for which parts of paths did worse.
    """
    return begin_in(path.sigmas, run.sigmas) if run.continues or run.sigmas[-1] > 0 else None


def choose_fitted(run: Conditions, num_full: int, paths: Sequence[GoldenPath]) -> Choice | None:
    """The path whose weights hold for a run; None without any, or if it does not reuse."""
    if run.policy != Reuse():
        return None
    fitting = [path for path in paths if _is_fitted_for(run, num_full, path)]
    if not fitting:
        return None
    path = max(fitting, key=lambda path: (_nearness(path, run), _examples(path)))
    return Choice(path.schedule, provenance(path), path.policy, path=path)


def _cfg(path: GoldenPath) -> Any:
    """CFG that a path's weights were fitted for."""
    return path.policy.conditions.get("cfg") if isinstance(path.policy, Fitted) else None


def _nearness(path: GoldenPath, run: Conditions) -> float:
    """How near a run's CFG is to that of a path's weights; 0 is the same, less is further."""
    fitted, of_run = _cfg(path), run.cfg
    return 0.0 if of_run is None or fitted == of_run else -abs(fitted - of_run)


def _examples(path: GoldenPath) -> int:
    """Number of examples that a path's weights were fitted to."""
    return path.policy.examples if isinstance(path.policy, Fitted) else 0


def _taken(run: Conditions, path: GoldenPath, schedule: Schedule, origin: str) -> Choice:
    if not _is_policy_of(path, run.policy):
        origin += f", found with {path.policy}"
    same_steps = schedule == path.schedule
    own_spans = same_steps and isinstance(path.policy, MeanVelocity)
    policy = path.policy if own_spans else run.policy
    return Choice(schedule, origin, policy, path=path)


def provenance(path: GoldenPath) -> str:
    """Where a path comes from, and what its weights are worth, in words."""
    if proof := evidence(path):
        return proof if path.origin == LEARNED else f"{path.name}, {proof}"
    if path.origin == PUBLISHED:
        return f"published for {path.model}"
    return f"{path.origin}: {path.name}"


def _is_fitted_for(run: Conditions, num_full: int, path: GoldenPath) -> bool:
    """Whether a path has weights for this run, and states what they were fitted for."""
    return (
        isinstance(path.policy, Fitted)
        and not path.policy.missing
        and path.origin in (SEARCHED, LEARNED, SHARED, PUBLISHED, WITH_PACK)
        and path.method == "searched"
        and path.schedule.num_full == num_full
        and run.is_model_of(path)
        and same_levels(path.sigmas, run.sigmas)
        and run.holds(path.policy)
    )


def _rank(policy: Policy, path: GoldenPath) -> int:
    """Fit of a path to a policy: 1 best, 0 not at all.

    Schedules searched with reuse are good with other policies, too (GPH paper, which evaluates
    five policies on them); those that another method chose are taken with its own policy only.
    """
    if path.origin not in (SEARCHED, SHARED, PUBLISHED, WITH_PACK):
        return 0
    if not _keeps(policy, path.schedule):
        return 0
    if _is_policy_of(path, policy):
        return {"searched": 1, "planned": 2, "adaptive": 4}.get(path.method, 0)
    return 3 if path.method == "searched" and path.policy == Reuse() else 0


def _keeps(policy: Policy, schedule: Schedule) -> bool:
    """Whether a policy can work with a schedule."""
    try:
        policy.check(schedule)
    except ValueError:
        return False
    return True


def _is_policy_of(path: GoldenPath, policy: Policy) -> bool:
    if isinstance(path.policy, MeanVelocity) and isinstance(policy, MeanVelocity):
        return not policy.spans  # the spans of a path stand for the one span of the node
    if isinstance(policy, DampedVelocity):
        return isinstance(path.policy, DampedVelocity)  # a record keeps what it knew of its run
    return path.policy == policy
