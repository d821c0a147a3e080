"""Choice of the schedule that a run takes: the first of these that there is.

1. A path with weights that were fitted under the same conditions, CFG included.
2. A path that was searched under the same conditions: model, noise levels, full steps, policy.
3. One that was published for the same model, noise levels and number of full steps.
4. The part of such a path that the run covers, if it continues another run or is continued.
5. Spacing by noise level; uniform spacing where the noise levels do not fall.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..architecture import is_stated
from ..gates.base import Gate
from ..policies.base import Policy
from ..policies.extrapolation import Reuse
from ..policies.fitted import Fitted
from ..policies.mean_velocity import MeanVelocity
from ..schedule import Schedule, uniform
from .evidence import evidence
from .golden_path import PUBLISHED, SEARCHED, SHARED, GoldenPath
from .grids import FIRST_FULL, FIRST_OF, MAX_STEPS
from .places import begin_in, same_levels
from .spacings import noise_spacing

# How far the cache ratios of a part and of a speed may be apart: few steps round much.
NEAR_RATIO = 0.05

SPACED = "spacing by noise level"

# Up to here every schedule can be tried: 2 ** 8 with the first and the last step full.
FEW_STEPS = 10


class Choice(NamedTuple):
    """A schedule and, in words, where it comes from."""

    schedule: Schedule
    origin: str
    policy: Policy  # with the weights of this schedule
    gate: Gate | None = None  # decides during the run which cached steps to compute in full
    note: str = ""  # for the user
    method: str = ""  # title of the adaptive method that chose; else empty


def never(policy: Policy) -> bool:
    """Whether fitted weights hold for a run of unknown conditions."""
    return False


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is known of a run before it starts.

    Args:
        family: of the model; None if it is not a listed one.
        architecture: ComfyUI's model configuration.
        holds: whether a fitted policy holds for the run.
        name: of the model's class, which a path states if the model has no family.
        guidance: scale of CFG, or of what the model was trained to imitate; 1 without.
        halfway: the model's noise level in the middle of its own schedule.
        continues: no noise is added before the first step.
        sigma_max: the model's highest noise level.
        grids: noise levels of as many steps, as each scheduler has them.
        time_changes: see ``Setting``.
    """

    family: str | None
    architecture: Mapping[str, Any]
    sigmas: Sequence[float]
    policy: Policy
    holds: Callable[[Policy], bool] = never
    name: str = ""
    guidance: float = 5.0
    halfway: float = 0.5
    continues: bool = False
    sigma_max: float = 1.0
    grids: Callable[[int], Iterable[Sequence[float]]] = lambda num_steps: ()
    time_changes: Callable[[], Sequence[float]] | None = None

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    def is_model_of(self, path: GoldenPath) -> bool:
        """Whether a path states a model and it is this one."""
        return (
            bool(path.family)
            and path.family == (self.family or self.name)
            and is_stated(path.architecture, self.architecture)
        )


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
            return _taken(run, path, part, f"{steps} {provenance(path)}")
    return _spaced(run, num_full)


def _begin_in(run: Conditions, path: GoldenPath) -> int | None:
    """First step of the part of a path that a run covers; None if it covers none.

    Image to image covers none: it begins with new noise, for which parts of paths did worse.
    """
    return begin_in(path.sigmas, run.sigmas) if run.continues or run.sigmas[-1] > 0 else None


def _spaced(run: Conditions, num_full: int) -> Choice:
    anchors = run.policy.min_anchors
    falls = all(a > b for a, b in itertools.pairwise(run.sigmas)) and run.sigmas[-1] >= 0
    if falls and run.num_steps <= MAX_STEPS:
        spaced = noise_spacing(run.sigmas, num_full, run.halfway, run.guidance != 1, anchors)
        return Choice(spaced, SPACED, run.policy)
    return Choice(spacing(run.num_steps, num_full, anchors), "uniform spacing", run.policy)


def choose_fitted(run: Conditions, num_full: int, paths: Sequence[GoldenPath]) -> Choice | None:
    """The first path whose weights hold for a run; None without any, or if it does not reuse."""
    for path in paths if run.policy == Reuse() else ():
        if _is_fitted_for(run, num_full, path):
            return Choice(path.schedule, provenance(path), path.policy)
    return None


def spacing(num_steps: int, num_full: int, min_anchors: int = 1) -> Schedule:
    """Uniform spacing after full first steps, in the proportion of three of 50.

    The published rule has three at any N, which leaves long gaps in short runs
    (docs/decisions/schedules_and_paths.md has the measurement). One first step is full where more
    would leave none for the last step.
    """
    first_full = max(1, round(FIRST_FULL * num_steps / FIRST_OF))
    if num_full <= first_full:
        first_full = 1
    return uniform(num_steps, num_full, max(first_full, min_anchors))


def _taken(run: Conditions, path: GoldenPath, schedule: Schedule, origin: str) -> Choice:
    if not _is_policy_of(path, run.policy):
        origin += f", found with {path.policy}"
    same_steps = schedule == path.schedule
    own_spans = same_steps and isinstance(path.policy, MeanVelocity)
    return Choice(schedule, origin, path.policy if own_spans else run.policy)


def provenance(path: GoldenPath) -> str:
    """Where a path comes from, and what its weights are worth, in words."""
    if proof := evidence(path):
        return f"{path.name}, {proof}"
    if path.origin == PUBLISHED:
        return f"published for {path.model}"
    return f"{path.origin}: {path.name}"


def _is_fitted_for(run: Conditions, num_full: int, path: GoldenPath) -> bool:
    """Whether a path has weights for this run, and states what they were fitted for."""
    return (
        isinstance(path.policy, Fitted)
        and not path.policy.missing
        and path.origin in (SEARCHED, SHARED, PUBLISHED)
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
    if path.origin not in (SEARCHED, SHARED, PUBLISHED) or not _keeps(policy, path.schedule):
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
    return path.policy == policy
