"""Selection from a search: finalists, how they compare, and the one that is delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..policies.base import Policy, Site
from ..quality.objective import PSNR, Metrics, Objective
from ..quality.semantic.guard import Guard, changes_in_words
from ..quality.stats import Gain, mean_of
from ..quality.verdict import Tally
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
    """Control: a run of fewer, longer steps, those that a schedule has full, without a cache.

    With Euler's steps that is velocity reuse.
    """

    site = Site.GUIDED

    def __str__(self) -> str:
        return "plain steps"


class Validated(NamedTuple):
    """A pair of schedule and policy with its values on the validation examples.

    Args:
        name: of a baseline; empty for a searched schedule.
        changes: means of the semantic changes that the guard limits.
        keeps_guard: whether it may be delivered.
        psnr: of the examples, if the objective needs PSNR and all images have values.
    """

    schedule: Schedule
    policy: Policy
    score: Score
    name: str
    changes: Mapping[str, float] = {}
    keeps_guard: bool = True
    psnr: Tally | None = None


def validated_on(
    examples: Examples, log: StudyLog | None, objective: Objective, schedule: Schedule,
    policy: Policy, name: str = "",
) -> Validated:  # fmt: skip
    """A schedule with its values on some examples, whether or not it keeps the guard."""
    guard = objective.guard
    study = Study(examples, replace(objective, guard=Guard()), log=log)
    score = study.score(Proposal(schedule))
    metrics = study.metrics(schedule)
    return Validated(
        schedule, policy, score, name, guard.changes(metrics), guard.holds(metrics),
        _tally(metrics) if score.is_whole and "psnr" in objective.metrics else None,
    )  # fmt: skip


def _tally(metrics: Sequence[Metrics]) -> Tally:
    return Tally.of([PSNR.value(of_example) for of_example in metrics])


@dataclass(frozen=True)
class Control:
    """A schedule under a policy that was not searched, with the examples to compare it on."""

    name: str
    schedule: Schedule
    policy: Policy
    examples: Examples
    log: StudyLog

    def validated(self, objective: Objective) -> Validated:
        return validated_on(
            self.examples, self.log, objective, self.schedule, self.policy, self.name
        )


def ranked(validated: Sequence[Validated]) -> list[Validated]:
    """The best that can be delivered, then the others by falling mean.

    Plain steps, and schedules that break the guard, are never delivered.
    """
    ordered = sorted(validated, key=lambda v: -v.score.mean)
    possible = (v for v in ordered if v.keeps_guard and not isinstance(v.policy, PlainSteps))
    best = next(possible, None)
    return [] if best is None else [best, *(v for v in ordered if v is not best)]


def nothing_to_deliver(validated: Sequence[Validated], guard: Guard) -> str:
    """Why none of the schedules can be delivered."""
    paths = [v for v in validated if not isinstance(v.policy, PlainSteps)]
    broken = [v.changes for v in paths if not v.keeps_guard]
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
    away from all taken before. If these are too few, the best of the others follow.

    Source: GPH paper, appendix *Schedule Search*, candidate validation.
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

    The interval is Student's for the mean of the differences; infinite for a single example. The
    GPH paper's bootstrap over thousands of runs would be too narrow for tens of examples.
    """
    if not (score.is_whole and other.is_whole) or len(score.values) != len(other.values):
        raise ValueError(
            f"schedules are compared on the same examples; one has {len(score.values)}, "
            f"the other {len(other.values)}"
        )
    return mean_of([a - b for a, b in zip(score.values, other.values, strict=True)])
