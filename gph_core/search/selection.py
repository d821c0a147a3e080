"""Selection from a search: finalists, how they compare, and the one that is delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..policies.base import Policy, Site
from ..quality.objective import Objective
from ..quality.semantic.guard import Guard, changes_in_words
from ..quality.stats import Gain, mean_of
from ..schedule import Schedule
from .log import StudyLog
from .proposals import Proposal, Score
from .study import Examples, Study

NO_VALUES = (
    "no schedule could be scored: with every schedule the images contain values that are not "
    "finite; look at an image of Golden Path Cache first"
)


@dataclass(frozen=True)
class PlainSteps(Policy):
    """Sampler that takes the full steps of a schedule alone, each as long as the gap behind it.

    It is a run of fewer steps, which nothing caches: only a control. With Euler's steps it is
    velocity reuse.
    """

    site = Site.GUIDED

    def __str__(self) -> str:
        return "plain steps"


class Validated(NamedTuple):
    """A pair of schedule and policy with its values on the validation examples.

    Args:
        name: of a baseline; empty for what was searched.
        changes: means of the semantic changes that the guard limits.
        keeps_guard: whether it may be delivered.
    """

    schedule: Schedule
    policy: Policy
    score: Score
    name: str
    changes: Mapping[str, float] = {}
    keeps_guard: bool = True


def validated_on(
    examples: Examples, log: StudyLog | None, objective: Objective, schedule: Schedule,
    policy: Policy, name: str = "",
) -> Validated:  # fmt: skip
    """A schedule with its values on some examples, whether or not it keeps the guard.

    Args:
        log: memory of the examples.
    """
    guard = objective.guard
    study = Study(examples, replace(objective, guard=Guard()), log=log)
    score = study.score(Proposal(schedule))
    metrics = study.metrics(schedule)
    return Validated(schedule, policy, score, name, guard.changes(metrics), guard.holds(metrics))


@dataclass(frozen=True)
class Control:
    """A schedule that is compared with what was found, under a policy that was not searched.

    Args:
        examples: under that policy, those that choose among the best.
        log: their memory.
    """

    name: str
    schedule: Schedule
    policy: Policy
    examples: Examples
    log: StudyLog

    def validated(self, objective: Objective) -> Validated:
        """The control with its values on the examples."""
        return validated_on(
            self.examples, self.log, objective, self.schedule, self.policy, self.name
        )


def ranked(found: Sequence[Validated]) -> list[Validated]:
    """The best that can be delivered, then the others by falling mean.

    Plain steps are no path, and what breaks the guard is none that is wanted: they are never
    delivered.
    """
    ordered = sorted(found, key=lambda v: -v.score.mean)
    possible = (v for v in ordered if v.keeps_guard and not isinstance(v.policy, PlainSteps))
    best = next(possible, None)
    return [] if best is None else [best, *(v for v in ordered if v is not best)]


def nothing_to_deliver(found: Sequence[Validated], guard: Guard) -> str:
    """Reason why none of the schedules that were compared can be delivered."""
    broken = [v.changes for v in found if not (v.keeps_guard or isinstance(v.policy, PlainSteps))]
    if not broken:
        return NO_VALUES
    closest = max(broken, key=lambda c: min(c[key] + limit for key, limit in guard.limits.items()))
    return (
        f"no schedule keeps the guard ({guard}); the closest one has {changes_in_words(closest)}: "
        "raise the limit in Semantic Metrics, or choose more full steps"
    )


def finalists(
    scores: Mapping[Schedule, Score], count: int = 3, distance: int = 4
) -> list[Schedule]:
    """The best wholly scored schedules that differ from each other, best first.

    Taken by falling mean, equal ones in the order of ``scores``, if at least ``distance`` steps
    away from all taken before. Where these are too few, the best of the others follow.

    Source: seed paper, appendix *Schedule Search*, candidate validation.
    """
    whole = (schedule for schedule, score in scores.items() if score.is_whole)
    ordered = sorted(whole, key=lambda schedule: -scores[schedule].mean)
    taken: list[Schedule] = []
    for schedule in ordered:
        if len(taken) < count and all(schedule.distance(s) >= distance for s in taken):
            taken.append(schedule)
    others = [schedule for schedule in ordered if schedule not in taken]
    return [*taken, *others[: count - len(taken)]]


def paired_gain(score: Score, other: Score) -> Gain:
    """Gain of a schedule over another on the same examples.

    The interval is Student's for the mean of the differences, with their sample deviation; infinite
    for a single example. The seed paper's percentile bootstrap over thousands of runs would be too
    narrow for the tens of examples of a validation.
    """
    if not (score.is_whole and other.is_whole) or len(score.values) != len(other.values):
        raise ValueError(
            f"schedules are compared on the same examples; one has {len(score.values)}, "
            f"the other {len(other.values)}"
        )
    return mean_of([a - b for a, b in zip(score.values, other.values, strict=True)])
