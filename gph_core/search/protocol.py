"""From a budget to a golden path: probe, search, choose finalists, validate, deliver.

With several policies, each gets a short search and the best two go on, because schedule and policy
interact. Delivered is the pair with the best mean on validation examples, which no search saw.
Baselines compete, too, so that nothing worse is delivered unnoticed, and so does the best schedule
of each policy that did not go on: a few scoring examples may have misjudged it.

Source: GPH paper, *Searching for Golden Paths* and appendix *Schedule Search*.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from ..policies.base import Policy
from ..quality.objective import FOR_SEARCHES, HARDLY, JOINT, PSNR, Objective, standardized
from ..quality.semantic.guard import Guard
from ..schedule import Schedule
from .algorithms.table import ALGORITHMS, Setup, choose_default
from .budget import Asked, Budget
from .judge import Race
from .log import StudyLog
from .proposals import Score
from .selection import Control, Validated, finalists, nothing_to_deliver, ranked, validated_on
from .setup import prepared, probed, search_space
from .study import Examples, Study

SHORT_SHARE = 0.4  # of the budget, for the short searches of several policies together
GO_ON = 2  # policies that go on after them


@dataclass(frozen=True)
class Contestant:
    """A policy, its examples, and the logs of both studies.

    Args:
        baselines: schedules by name that are validated, too; searches begin at those within their
            space.
        validation, validated: examples that the search does not see, and their log; without them
            the scoring examples choose, too.
        starts: schedules that are scored first; validated, too, as a search may overfit.
        controls: validated, too, under policies of their own.
    """

    policy: Policy
    scoring: Examples
    scores: StudyLog
    baselines: Mapping[str, Schedule]
    validation: Examples | None = None
    validated: StudyLog | None = None
    starts: Sequence[Schedule] = ()
    controls: Sequence[Control] = ()


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of the search for a path.

    Args:
        algorithm: one of ``ALGORITHMS``; None: the default.
        objective: one of ``FOR_SEARCHES``, or ``JOINT``.
        budget: of all policies together.
        fixed_ends: see ``search_space``.
        guard: limits that a schedule has to keep to be delivered.
    """

    num_full: int
    budget: Budget
    algorithm: str | None = None
    objective: str = PSNR.name
    seed: int = 0
    race: Race | None = None
    fixed_ends: bool | None = None
    guard: Guard = field(default_factory=Guard)


class Delivery(NamedTuple):
    """Result of a search.

    Args:
        others: other finalists and baselines, best first.
        studies: the last study of each policy that went on.
        reason: why the search ended.
    """

    best: Validated
    others: list[Validated]
    objective: Objective
    studies: dict[Policy, Study]
    reason: str


class Listener:
    """Hears of the progress of a search; this one ignores it."""

    def scored(self, policy: Policy, study: Study, schedule: Schedule, score: Score) -> None:
        """A schedule has its first score."""

    def validates(self, done: int, total: int) -> None:
        """So many of the schedules have been validated."""


def find_path(
    contestants: Sequence[Contestant],
    num_steps: int,
    settings: SearchSettings,
    listener: Listener | None = None,
) -> Delivery:
    """Search for the best pair of schedule and policy.

    Args:
        contestants: one for each policy.

    Raises:
        ValueError: no schedule could be scored, or none keeps the guard.
    """
    listener = listener or Listener()
    legs = [_Leg(contestant, num_steps, settings, listener) for contestant in contestants]
    objective = replace(legs[0].objective(), guard=settings.guard)
    share, dropped = 1.0, []
    if len(legs) > 1:
        short = SHORT_SHARE / len(legs)
        share = short + (1 - SHORT_SHARE) / min(GO_ON, len(legs))
        for leg in legs:
            leg.run(objective, share, short)
        # Only by the scores of the short searches: the log may hold later ones.
        legs.sort(key=lambda leg: -leg.study.best_mean)
        legs, dropped = legs[:GO_ON], legs[GO_ON:]
        for leg in dropped:
            leg.end()
        best = [leg.study.best for leg in legs if leg.study.best]
        for leg in legs:
            leg.seeds = [*best, *leg.seeds]
    reasons = []
    for leg in legs:
        reasons.append(leg.run(objective, share))
        leg.end()
    work = [partial(leg.validate, schedule=s) for leg in legs for s in leg.compared()]
    work += [partial(leg.validate, schedule=s) for leg in dropped for s in leg.finalists()[:1]]
    controls = [control.validated for work in contestants for control in work.controls]
    compared = list(_validated([*work, *controls], objective, listener))
    if not (rows := ranked(compared)):
        raise ValueError(nothing_to_deliver(compared, objective.guard))
    studies = {leg.policy: leg.study for leg in legs}
    return Delivery(rows[0], rows[1:], objective, studies, reasons[0])


def _validated(
    work: Sequence[Callable[[Objective], Validated]], objective: Objective, listener: Listener
) -> Iterator[Validated]:
    """Schedules with their scores on the validation examples."""
    for done, validate in enumerate(work):
        listener.validates(done, len(work))
        row = validate(objective)
        if row.score.is_whole:
            yield row


class _Leg:
    """The searches of one policy."""

    def __init__(
        self, contestant: Contestant, num_steps: int, settings: SearchSettings, listener: Listener
    ) -> None:
        self.policy = contestant.policy
        self.study: Study
        self.seeds = list(contestant.baselines.values())
        self._contestant, self._settings, self._listener = contestant, settings, listener
        self._space = search_space(
            num_steps, settings.num_full, contestant.policy, settings.fixed_ends
        )
        self._asked = Asked()

    def objective(self) -> Objective:
        """The objective; the joint one takes the metrics of a probe."""
        if self._settings.objective != JOINT:
            return FOR_SEARCHES[self._settings.objective]
        study = self._begin(PSNR, 1.0)
        pairs = probed(study, self._space, self._settings.seed)
        if not pairs:
            raise ValueError(nothing_to_deliver([], Guard()))
        return standardized(study.metrics(schedule) for pair in pairs for schedule in pair)

    def run(self, objective: Objective, share: float, limit: float | None = None) -> str:
        """Search with a share of the budget, which includes earlier measurements.

        Args:
            limit: share for what this search itself asks for, so that it ends at the same place
                each time.
        """
        study = self._begin(objective, share, limit)
        first = self._contestant.starts
        name = self._settings.algorithm or choose_default(self._space, bool(first))
        algorithm = ALGORITHMS[name]
        rng = random.Random(f"{self._settings.seed} {name}")
        seeds = [study.best_of(first), *self.seeds] if first else self.seeds
        starts = [seed for seed in dict.fromkeys(seeds) if seed in self._space]
        if not starts:
            starts = [self._space.sample(rng)]
        setup = Setup()
        if algorithm.needs_length:
            seed = self._settings.seed if algorithm.needs_probe else None
            setup = prepared(study, self._space, starts[0], seed)
        return study.run(algorithm.start(self._space, rng, starts, setup))

    def end(self) -> None:
        """Free what only the search needed."""
        if self._contestant.validation is not None:
            self._contestant.scoring.forget()

    def finalists(self) -> list[Schedule]:
        """The best schedules that differ enough, also from former searches in the log."""
        return finalists(self.study.measured(self._space))

    def compared(self) -> list[Schedule]:
        """Finalists, starts and baselines."""
        work = self._contestant
        return list(dict.fromkeys([*self.finalists(), *work.starts, *work.baselines.values()]))

    def validate(self, objective: Objective, schedule: Schedule) -> Validated:
        """A schedule on the validation examples, if there are any."""
        work = self._contestant
        names = {schedule: name for name, schedule in work.baselines.items()}
        where = work.scoring, work.scores
        if work.validation is not None:
            where = work.validation, work.validated
        return validated_on(*where, objective, schedule, self.policy, names.get(schedule, ""))

    def _begin(self, objective: Objective, share: float, limit: float | None = None) -> Study:
        """A new study with a share of the budget, on the same log.

        Shares of a few examples tie, and a race would go by what breaks the ties.
        """
        study = self.study = Study(
            self._contestant.scoring,
            objective,
            self._settings.budget.share(share),
            self._contestant.scores,
            None if objective.name == HARDLY else self._settings.race,
            on_score=lambda *scored: self._listener.scored(self.policy, study, *scored),
            limit=self._settings.budget.share(limit or share),
            asked=self._asked,
        )
        return study
