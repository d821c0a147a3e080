"""A study answers the proposals of a search algorithm within a budget, and remembers.

Repeated proposals are answered from memory at no cost. An algorithm is a deterministic function of
its seed and the scores, so it resumes by running again on the same log.
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

# An algorithm that proposes nothing new would never end.
MOST_REPEATS = 2000


class Measurement(NamedTuple):
    """Results of a schedule on some examples."""

    metrics: Sequence[Metrics]  # one an example
    full_steps: float  # transformer evaluations at full compute, over all examples


class Examples(Protocol):
    """Examples that schedules are measured on.

    An attribute ``batch`` says how many are sampled at once, from the first example on;
    measurements are kept after each batch.
    """

    def __len__(self) -> int: ...

    def begin(self) -> None:
        """Do once what measurements need, such as full runs; its time does not count."""
        ...

    def forget(self) -> None:
        """Free the memory of ``begin`` and of runs, which are repeated if needed."""
        ...

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        """Run the examples of these numbers under a schedule."""
        ...


class Study:
    """Scores of schedules under one objective.

    Args:
        examples: what schedules are measured on.
        objective: what is maximized.
        budget: of the whole study, with all that its log holds.
        log: its memory; None: a new one, which is not kept.
        race: how hopeless schedules are dropped; None: all examples are always run.
        stops_when_stalled: end after two units of the search in a row that improve the best mean by
            less than twice its standard error.
        on_score: is told each schedule with its first score.
        limit: of all that the search asks for, new or in the log; None: the budget.
        asked: what the search has asked for in other studies, to which this one adds.
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
        self.former_seconds = self.seconds  # before this session

    @property
    def num_examples(self) -> int:
        """Examples of a whole score."""
        return len(self._examples)

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
        """Which part of the budget is used up."""
        return self.budget.part(len(self._log), self.full_steps, self.seconds)

    @property
    def asked(self) -> float:
        """Which part of the limit the search has asked for; the same when it resumes."""
        asked = self._asked
        return self._limit.part(len(asked.metrics), asked.full_steps, asked.seconds)

    def affordable(self, typical: Sequence[Schedule]) -> float:
        """Schedules that the whole limit pays for, at the cost of typical ones.

        It is the same when a study resumes.
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
        """The whole scores in the log of a space, also of former runs, in order of measurement."""
        judged = {
            s: self._judge.judge(Proposal(s), self._log.metrics(s)) for s in self._log if s in space
        }
        return {
            s: score for s, score in judged.items() if isinstance(score, Score) and score.is_whole
        }

    def metrics(self, schedule: Schedule) -> list[Metrics]:
        """Known metrics of a schedule, one an example."""
        return list(self._log.metrics(schedule).values())

    def run(self, search: Search) -> str:
        """Answer a search's proposals; returns why it ended, in words."""
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
        """Score schedules in order while the budget lasts; the best, else the first."""
        for schedule in schedules:
            if self.refuses(Proposal(schedule)):
                break
            self.score(Proposal(schedule))
        return max(schedules, key=lambda s: self.scores[s].mean if s in self.scores else -math.inf)

    def score(self, proposal: Proposal) -> Score:
        """The score of a proposal, from memory as far as possible."""
        schedule, rival, lead = proposal
        former = self.scores.get(schedule)
        if former and (
            former.is_whole or (rival and self._judge.is_lost(former.values, rival, lead))
        ):
            self._repeats += 1
            return former
        metrics = self._asked.metrics.setdefault(schedule, {})
        while not isinstance(score := self._judge.judge(proposal, metrics), Score):
            self._ask(schedule, score)
        if former and len(score.values) <= len(former.values):
            # Dropped again, and earlier: counted as new, such answers could go on forever.
            self._repeats += 1
            return score
        self._repeats = 0
        self.scores[schedule] = score
        if rival:
            self._judge.remember(score, rival)
        if not former and self._on_score:
            self._on_score(schedule, score)
        return score

    def refuses(self, proposal: Proposal) -> bool:
        """Whether a proposal goes beyond the budget or the limit.

        The budget always completes schedules that the log has in part; the limit does not.
        """
        schedule, asked, limit = proposal.schedule, self._asked, self._limit
        if self.used >= 1 and schedule not in self._log:
            return True
        metrics = asked.metrics.get(schedule, {})
        if len(asked.metrics) >= limit.evaluations and not metrics:
            return True
        if asked.full_steps < limit.full_steps and asked.seconds < limit.seconds:
            return False
        return not isinstance(self._judge.judge(proposal, metrics), Score)

    def _ask(self, schedule: Schedule, examples: Sequence[int]) -> None:
        """Take examples from the log, after measuring the missing ones batch by batch."""
        entries = self._log.entries(schedule)
        missing = [e for e in examples if e not in entries]
        batch = getattr(self._examples, "batch", len(self._examples))
        for _, group in itertools.groupby(missing, lambda e: e // batch):
            self._measure(schedule, list(group))
        # New ones are read, too, so that sums are the same to the last digit when resuming.
        entries = self._log.entries(schedule)
        for example in examples:
            self._asked.metrics[schedule][example] = entries[example].metrics
            self._asked.full_steps += entries[example].full_steps
            self._asked.seconds += entries[example].seconds

    def _measure(self, schedule: Schedule, missing: Sequence[int]) -> None:
        self._examples.begin()
        began = time.perf_counter()
        measured = self._examples.measure(schedule, missing)
        seconds = time.perf_counter() - began
        self._log.add(schedule, missing, measured.metrics, measured.full_steps, seconds)
        self.full_steps += measured.full_steps
        self.seconds += seconds
