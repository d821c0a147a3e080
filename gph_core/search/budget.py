"""Budget that a search may spend, and what it has asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..quality.objective import Metrics
from ..schedule import Schedule


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of what a study may spend; whatever is reached first ends it."""

    evaluations: float = math.inf  # different schedules
    full_steps: float = math.inf  # transformer evaluations at full compute, over all examples
    seconds: float = math.inf

    def share(self, share: float) -> Budget:
        """A part of it."""
        return Budget(share * self.evaluations, share * self.full_steps, share * self.seconds)

    def part(self, evaluations: float, full_steps: float, seconds: float) -> float:
        """Part of the budget that so much is."""
        return max(
            evaluations / self.evaluations, full_steps / self.full_steps, seconds / self.seconds
        )


@dataclass(slots=True)
class Asked:
    """Measurements that a search has asked for, new or known: the same when it is run again."""

    metrics: dict[Schedule, dict[int, Metrics]] = field(default_factory=dict)
    full_steps: float = 0.0  # what it took, whenever that was
    seconds: float = 0.0
