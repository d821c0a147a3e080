"""Messages between a search algorithm and a study.

An algorithm is a generator: it yields a ``Proposal`` and receives its ``Score``. It knows nothing
of budgets, memory and logs. After each unit of its work (a climb, a chain, a sweep) it yields
``END_OF_UNIT`` and receives None; the study may then stop it. The next unit begins there, or at
``BEGIN_OF_UNIT`` if some proposals belong to no unit.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ..schedule import Schedule


@dataclass(frozen=True, slots=True)
class Score:
    """The objective of one schedule on each example; higher is better."""

    values: tuple[float, ...]
    is_whole: bool = True  # False: dropped after some examples

    @property
    def mean(self) -> float:
        """The mean over the examples; minus infinity if dropped."""
        return statistics.fmean(self.values) if self.is_whole else -math.inf

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, from the sample deviation; infinite for a single example."""
        if len(self.values) < 2:
            return math.inf
        return statistics.stdev(self.values) / math.sqrt(len(self.values))


class Proposal(NamedTuple):
    """A schedule to score.

    With a ``rival``, the algorithm uses the score only if its mean is above the rival's plus
    ``lead``, so the study may drop the schedule early.
    """

    schedule: Schedule
    rival: Score | None = None
    lead: float = 0.0


class Unit(Enum):
    """A mark between proposals."""

    BEGIN = "begin of a unit"
    END = "end of a unit"


BEGIN_OF_UNIT, END_OF_UNIT = Unit.BEGIN, Unit.END
Search = Generator[Proposal | Unit, Score, None]
