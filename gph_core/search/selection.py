"""Selection from a search: finalists, how they compare, and the one that is delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..policies.base import Policy, Site
from ..quality.gain import Gain, mean_of
from ..quality.objective import Objective
from ..schedule import Schedule
from .log import StudyLog
from .proposals import Proposal, Score
from .study import Examples, Study


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
    """A pair of schedule and policy with its values on the validation examples."""

    schedule: Schedule
    policy: Policy
    score: Score
    name: str  # of a baseline; empty for what was searched


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
        score = Study(self.examples, objective, log=self.log).score(Proposal(self.schedule))
        return Validated(self.schedule, self.policy, score, self.name)


def ranked(found: Sequence[Validated]) -> list[Validated]:
    """The best that can be delivered, then the others by falling mean.

    Plain steps are no path: they are never delivered.
    """
    ordered = sorted(found, key=lambda v: -v.score.mean)
    best = next((v for v in ordered if not isinstance(v.policy, PlainSteps)), None)
    return [] if best is None else [best, *(v for v in ordered if v is not best)]


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
