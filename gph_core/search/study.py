"""A study: answers the proposals of a search algorithm within a budget, and remembers.

A repeated proposal is answered from memory and costs nothing. Algorithms are deterministic
functions of their seed and the scores, so running one again on the same log is how it resumes.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ..quality.objective import PSNR, Metrics, Objective
from ..schedule import Schedule, ScheduleSpace
from .budget import STALLED, Asked, Budget, SearchProgress
from .judge import Judge, Race
from .log import StudyLog
from .proposals import Proposal, Score, Search, Unit

# An algorithm that proposes nothing new any more would never end.
MOST_REPEATS = 2000


class Measurement(NamedTuple):
    """Results of a schedule on some examples."""

    metrics: Sequence[Metrics]  # one an example
    full_steps: float  # transformer evaluations at full compute that it took, of all examples


class Examples(Protocol):
    """Examples that schedules are measured on.

    Those that are sampled several at once say how many by an attribute ``batch``; measurements are
    kept after each batch, the first of which begins with the first example.
    """

    def __len__(self) -> int: ...

    def begin(self) -> None:
        """Do what is done once, such as full runs; called before each measurement.

        Its time is not counted as the search's.
        """
        ...

    def forget(self) -> None:
        """Free what ``begin`` and runs left in memory; it is made anew where it is needed."""
        ...

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        """Run the examples of these numbers under a schedule."""
        ...


class Study:
    """Scores of schedules under one objective.

    Args:
        examples: what schedules are measured on.
        objective: what is maximized.
        budget: of the whole study, what its log holds included.
        limit: of what the search asks for, what its log holds included; none: the budget.
        asked: what the search has asked for in other studies, to which this one adds.
        log: its memory; a new one in memory if not given.
        race: how hopeless schedules are dropped; none: all examples are always run.
        stops_when_stalled: end once two units of the search in a row improve the best mean by
            less than twice its standard error.
        on_score: told each schedule with its score when it is asked for the first time.
    """

    def __init__(
        self,
        examples: Examples,
        objective: Objective = PSNR,
        budget: Budget | None = None,
        log: StudyLog | None = None,
        race: Race | None = None,
        stops_when_stalled: bool = True,
        on_score: Callable[[Schedule, Score], None] | None = None,
        limit: Budget | None = None,
        asked: Asked | None = None,
    ) -> None:
        self.objective = objective
        self.budget = budget or Budget()
        self._limit = limit or self.budget
        self._asked = asked or Asked()
        self.scores: dict[Schedule, Score] = {}  # in the order in which they were asked for
        self._examples = examples
        self._log = StudyLog(None, {}) if log is None else log
        self._log.needed = (*objective.metrics, *objective.guard.limits)
        self._judge = Judge(examples, objective, race)
        self._stops_when_stalled = stops_when_stalled
        self._on_score = on_score
        self._repeats = 0
        self.full_steps, self.seconds = self._log.spent()
        self.former_seconds = self.seconds  # of former runs

    @property
    def best(self) -> Schedule | None:
        """The wholly scored schedule with the highest mean, the earliest of equal ones."""
        whole = [s for s, score in self.scores.items() if score.is_whole]
        return max(whole, key=lambda s: self.scores[s].mean, default=None)

    @property
    def best_mean(self) -> float:
        """The mean of the best schedule; minus infinity if there is none."""
        return self.scores[self.best].mean if self.best else -math.inf

    @property
    def _best_score(self) -> Score | None:
        return self.scores[self.best] if self.best else None

    @property
    def used(self) -> float:
        """The part of the budget that is used up, from 0 on."""
        return self.budget.part(len(self._log), self.full_steps, self.seconds)

    @property
    def asked(self) -> float:
        """The part of the limit that the search has asked for; the same when it goes on."""
        asked = self._asked
        return self._limit.part(len(asked.metrics), asked.full_steps, asked.seconds)

    def affordable(self, typical: Sequence[Schedule]) -> float:
        """Number of schedules that the whole limit is enough for, if they cost what some did.

        It is the same when a study goes on.
        """
        full_steps, seconds = (spent / len(typical) for spent in self._log.spent(*typical))
        return min(
            self._limit.evaluations,
            self._limit.full_steps / full_steps if full_steps else math.inf,
            self._limit.seconds / seconds if seconds else math.inf,
        )

    def knows(self, schedule: Schedule) -> bool:
        """Whether the search has asked for all examples of a schedule."""
        return len(self._asked.metrics.get(schedule, {})) == len(self._examples)

    def measured(self, space: ScheduleSpace) -> dict[Schedule, Score]:
        """The whole scores of a space that the log holds, in the order of their measurement.

        Those of former runs with another algorithm or seed are among them.
        """
        found = {
            s: self._judge.judge(Proposal(s), self._log.metrics(s)) for s in self._log if s in space
        }
        return {
            s: score for s, score in found.items() if isinstance(score, Score) and score.is_whole
        }

    def metrics(self, schedule: Schedule) -> list[Metrics]:
        """Known metrics of a schedule, one an example."""
        return list(self._log.metrics(schedule).values())

    def run(self, search: Search) -> str:
        """Answer a search's proposals; why it ended, in words."""
        progress = SearchProgress(self._best_score)
        self._repeats = 0
        answer: Any = None
        while True:
            try:
                asked = search.send(answer)
            except StopIteration:
                return "the search is complete"
            answer = None
            if isinstance(asked, Unit):
                progress.mark(asked, self._best_score)
                if progress.is_stalled and self._stops_when_stalled:
                    return STALLED
                continue
            if self.refuses(asked):
                return "the budget is used up"
            answer = self.score(asked)
            if self._repeats >= MOST_REPEATS:
                return f"the last {MOST_REPEATS} proposals were all known"

    def best_of(self, schedules: Sequence[Schedule]) -> Schedule:
        """Score schedules in order, as far as the budget goes; the best, else the first."""
        for schedule in schedules:
            if self.refuses(Proposal(schedule)):
                break
            self.score(Proposal(schedule))
        return max(schedules, key=lambda s: self.scores[s].mean if s in self.scores else -math.inf)

    def score(self, proposal: Proposal) -> Score:
        """The score of a proposal, from memory as far as it is there."""
        schedule, rival, lead = proposal
        known = self.scores.get(schedule)
        if known and (known.is_whole or (rival and self._judge.is_lost(known.values, rival, lead))):
            self._repeats += 1
            return known
        metrics = self._asked.metrics.setdefault(schedule, {})
        while not isinstance(score := self._judge.judge(proposal, metrics), Score):
            self._ask(schedule, score)
        if known and len(score.values) <= len(known.values):
            # Dropped again, and earlier. Taken for news, such answers could go on forever.
            self._repeats += 1
            return score
        self._repeats = 0
        self.scores[schedule] = score
        if rival:
            self._judge.remember(score, rival)
        if not known and self._on_score:
            self._on_score(schedule, score)
        return score

    def refuses(self, proposal: Proposal) -> bool:
        """Whether a proposal goes beyond the budget or the limit.

        Within the budget is what the log knows, in part at least: what was begun is completed.
        Within the limit is only what was asked for.
        """
        schedule, asked, limit = proposal.schedule, self._asked, self._limit
        if self.used >= 1 and schedule not in self._log:
            return True
        known = asked.metrics.get(schedule, {})
        if len(asked.metrics) >= limit.evaluations and not known:
            return True
        if asked.full_steps < limit.full_steps and asked.seconds < limit.seconds:
            return False
        return not isinstance(self._judge.judge(proposal, known), Score)

    def _ask(self, schedule: Schedule, examples: Sequence[int]) -> None:
        """Take examples from the log, which gets those that it lacks batch by batch."""
        known = self._log.entries(schedule)
        missing = [e for e in examples if e not in known]
        batch = getattr(self._examples, "batch", len(self._examples))
        for _, group in itertools.groupby(missing, lambda e: e // batch):
            self._measure(schedule, list(group))
        # New ones are read as well, so that sums are the same to the last digit another time.
        known = self._log.entries(schedule)
        for example in examples:
            self._asked.metrics[schedule][example] = known[example].metrics
            self._asked.full_steps += known[example].full_steps
            self._asked.seconds += known[example].seconds

    def _measure(self, schedule: Schedule, missing: Sequence[int]) -> None:
        self._examples.begin()
        began = time.perf_counter()
        found = self._examples.measure(schedule, missing)
        seconds = time.perf_counter() - began
        self._log.add(schedule, missing, found.metrics, found.full_steps, seconds)
        self.full_steps += found.full_steps
        self.seconds += seconds
