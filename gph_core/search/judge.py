"""Judge of a study: from the metrics that are known of a schedule to its score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Sized

from ..quality.objective import Metrics, NotANumberError, Objective
from .proposals import Proposal, Score
from .racing import DifferenceSpread, Race, paired

# Of a schedule that breaks the guard, or whose images hold values that are no numbers: worse than
# any other.
UNUSABLE = Score((-math.inf,), is_whole=False)


class Judge:
    """Scores under one objective; in a race, some of them after a part of the examples.

    Args:
        examples: as many as a whole score has values.
        race: how hopeless schedules are dropped; none: all examples are needed.
    """

    def __init__(self, examples: Sized, objective: Objective, race: Race | None) -> None:
        self._examples, self._objective, self._race = examples, objective, race
        self._spread = DifferenceSpread()

    def judge(self, proposal: Proposal, metrics: Mapping[int, Metrics]) -> Score | list[int]:
        """The score by what is known of each example, or the examples to run before there is one.

        All of them at once, or in a race group by group.
        """
        try:
            return self._compare(proposal, metrics)
        except NotANumberError:
            return UNUSABLE

    def is_lost(self, values: Sequence[float], rival: Score, lead: float) -> bool:
        """Whether the race drops a schedule with these first values."""
        return self._race is not None and self._race.is_lost(values, rival, lead, self._spread)

    def remember(self, score: Score, rival: Score) -> None:
        """Count a comparison, from which later ones know how much differences vary."""
        self._spread.add(paired(score.values, rival))

    def _compare(self, proposal: Proposal, metrics: Mapping[int, Metrics]) -> Score | list[int]:
        _, rival, lead = proposal
        count = len(self._examples)
        group = self._race.group if self._race and rival else count
        for end in range(group, count, group):
            missing = [e for e in range(end) if e not in metrics]
            if missing:
                return missing
            values = self._values(metrics, end)
            if rival and self.is_lost(values, rival, lead):
                return Score(values, is_whole=False)
        if missing := [e for e in range(count) if e not in metrics]:
            return missing
        values = self._values(metrics, count)
        is_kept = self._objective.guard.holds([metrics[e] for e in range(count)])
        return Score(values) if is_kept else UNUSABLE

    def _values(self, metrics: Mapping[int, Metrics], end: int) -> tuple[float, ...]:
        return tuple(self._objective.value(metrics[e]) for e in range(end))
