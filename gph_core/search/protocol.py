"""Way from a budget to a golden path: probe, search, choose finalists, validate, deliver.

With several policies each gets a short search and the best two go on, because schedule and policy
interact. What is delivered is the pair with the best mean on the validation examples, which no
search saw; the baselines compete, so nothing worse than them is delivered unnoticed, and so does
the best of each policy that did not go on, because a few scoring examples may have misjudged it.

Source: seed paper, *Searching for Golden Paths* and appendix *Schedule Search*.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from ..policies.base import Policy
from ..quality.objective import JOINT, OBJECTIVES, PSNR, Objective, standardized
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
    """A policy with the examples under it and the memories of both studies.

    Args:
        baselines: schedules that are validated beside what is found, by name; those within the
            space are where searches begin.
        validation, validated: examples that the search does not see; without them the scoring
            examples choose, too.
        starts: where the search begins, scored first; validated, too, as a search may overfit.
        controls: are validated beside what is found, under policies of their own.
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
        algorithm: one of ``ALGORITHMS``, or None for the default.
        objective: one of ``OBJECTIVES``, or ``JOINT``.
        budget: of all policies together.
        fixed_ends: see ``search_space``.
        guard: what a schedule has to keep to win, and to be delivered.
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
        others: finalists and baselines, best first.
        studies: by policy, the last one of each that was searched to the end.
        reason: why the search ended.
    """

    best: Validated
    others: list[Validated]
    objective: Objective
    studies: dict[Policy, Study]
    reason: str


class Listener:
    """Listener that is told how a search goes on, and does nothing with it."""

    def scored(self, policy: Policy, study: Study, schedule: Schedule, score: Score) -> None:
        """A schedule is newly scored."""

    def validates(self, done: int, total: int) -> None:
        """Note how many of the schedules that are compared in the end are done."""


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
        # By what the short searches asked for alone: the log may hold what came after them.
        legs.sort(key=lambda leg: -leg.study.best_mean)
        legs, dropped = legs[:GO_ON], legs[GO_ON:]
        for leg in dropped:
            leg.end()
        found = [leg.study.best for leg in legs if leg.study.best]
        for leg in legs:
            leg.seeds = [*found, *leg.seeds]
    reasons = []
    for leg in legs:
        reasons.append(leg.run(objective, share))
        leg.end()
    work = [partial(leg.validate, schedule=s) for leg in legs for s in leg.compared()]
    work += [partial(leg.validate, schedule=s) for leg in dropped for s in leg.finalists()[:1]]
    controls = [control.validated for work in contestants for control in work.controls]
    found = list(_validated([*work, *controls], objective, listener))
    if not (rows := ranked(found)):
        raise ValueError(nothing_to_deliver(found, objective.guard))
    studies = {leg.policy: leg.study for leg in legs}
    return Delivery(rows[0], rows[1:], objective, studies, reasons[0])


def _validated(
    work: Sequence[Callable[[Objective], Validated]], objective: Objective, listener: Listener
) -> Iterator[Validated]:
    """What is compared, with its scores on the examples that no search saw."""
    for done, validate in enumerate(work):
        listener.validates(done, len(work))
        found = validate(objective)
        if found.score.is_whole:
            yield found


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
        """Objective that is maximized; the joint one needs the metrics of a probe."""
        if self._settings.objective != JOINT:
            return OBJECTIVES[self._settings.objective]
        study = self._begin(PSNR, 1.0)
        pairs = probed(study, self._space, self._settings.seed)
        if not pairs:
            raise ValueError(nothing_to_deliver([], Guard()))
        return standardized(study.metrics(schedule) for pair in pairs for schedule in pair)

    def run(self, objective: Objective, share: float, limit: float | None = None) -> str:
        """Search with a share of the budget, all that was measured before included.

        Args:
            limit: share that ends the search where it has asked for so much itself, whatever else
                was measured: at the same place each time.
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
        """The search is over: free what only it needed."""
        if self._contestant.validation is not None:
            self._contestant.scoring.forget()

    def finalists(self) -> list[Schedule]:
        """The best schedules that differ enough, those of former searches of the log included."""
        return finalists(self.study.measured(self._space))

    def compared(self) -> list[Schedule]:
        """Finalists, starts and baselines."""
        work = self._contestant
        return list(dict.fromkeys([*self.finalists(), *work.starts, *work.baselines.values()]))

    def validate(self, objective: Objective, schedule: Schedule) -> Validated:
        """A schedule on the examples that the search did not see, if there are any."""
        work = self._contestant
        names = {schedule: name for name, schedule in work.baselines.items()}
        where = work.scoring, work.scores
        if work.validation is not None:
            where = work.validation, work.validated
        return validated_on(*where, objective, schedule, self.policy, names.get(schedule, ""))

    def _begin(self, objective: Objective, share: float, limit: float | None = None) -> Study:
        """A new study with a share of the budget, on the same memory."""
        study = self.study = Study(
            self._contestant.scoring,
            objective,
            self._settings.budget.share(share),
            self._contestant.scores,
            self._settings.race,
            on_score=lambda *scored: self._listener.scored(self.policy, study, *scored),
            limit=self._settings.budget.share(limit or share),
            asked=self._asked,
        )
        return study
