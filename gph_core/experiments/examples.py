"""Examples of a search, as a study measures them: under a policy, or under fitted weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from ..files.run_states import RunStates
from ..fitting.closed_loop import fit
from ..fitting.crossed import Crossing, crossed
from ..fitting.steps import Steps
from ..policies.base import Policy
from ..policies.fitted import Fitted
from ..quality.objective import Metrics
from ..schedule import Schedule
from ..search.prefix import PrefixMemory
from ..search.study import Measurement
from .runner import Runner

STATES_IN_MEMORY = 2**30  # bytes of the full runs; 16 examples of 50 steps of FLUX have 0.8 GiB


@dataclass(frozen=True)
class UnderPolicy:
    """Examples under one policy.

    Args:
        state_bytes: of states from which runs go on.
        policy_for: the policy of a schedule, in place of ``policy``.
    """

    runner: Runner
    policy: Policy
    state_bytes: float = 0
    policy_for: Callable[[Schedule], Policy] | None = None

    def __len__(self) -> int:
        return len(self.runner)

    @property
    def batch(self) -> int:
        return self.runner.batch

    def begin(self) -> None:
        self.runner.full(self.policy)

    def forget(self) -> None:
        self.runner.forget(self.policy)

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        policy = self.policy if self.policy_for is None else self.policy_for(schedule)
        return self.runner.measure(schedule, policy, examples, self.state_bytes)


@dataclass
class UnderFits:
    """Examples, each under weights that were fitted to the others: on its own examples a fit looks
    better than it is. The delivered weights come from all examples.

    Args:
        steps: of the sampler.
        conditions: of the fitted weights.
        folder: of temporary files.
        state_bytes: of courses from which fits for other schedules go on.
    """

    runner: Runner
    steps: Steps
    conditions: Mapping[str, Any]
    folder: Path
    state_bytes: float = 0
    _present: set[int] = field(default_factory=set)  # examples whose full runs' states are known
    _metrics: dict[Schedule, list[Metrics]] = field(default_factory=dict)
    _policies: dict[Schedule, Fitted] = field(default_factory=dict)
    _grouping: Any = None  # that the courses in memory and the policies are of
    _full_steps: int = 0  # of all examples, in the measurement at hand

    def __len__(self) -> int:
        return len(self.runner)

    def begin(self) -> None:
        """Compute the full runs, and keep the states on their way."""
        self.runner.repeated(self._watch)

    def forget(self) -> None:
        """Free all but the states of the full runs: weights of what is delivered need them."""
        self.runner.forget(Fitted())
        self._memory.clear()

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        """Metrics of some examples; the first call for a schedule runs all of them."""
        self._full_steps = 0
        if schedule not in self._metrics:
            self._metrics[schedule] = self.runner.repeated(lambda: self._crossed(schedule))
        metrics = self._metrics[schedule]
        return Measurement([metrics[number] for number in examples], self._full_steps)

    def policy_for(self, schedule: Schedule) -> Fitted:
        """Weights of a schedule, fitted to all examples; once, as each group of others asks."""
        self.begin()
        self._forget_other_groups()
        if schedule not in self._policies:
            self._policies[schedule] = self._fitted(schedule)
        return self._policies[schedule]

    def _fitted(self, schedule: Schedule) -> Fitted:
        end = self.runner.repeated(lambda: fit(schedule, self.steps, self._at, self._velocities))
        return replace(end.policy, conditions=self.conditions, examples=len(self))

    @cached_property
    def _states(self) -> RunStates:
        """States of the full runs, ``[1, ...]`` each."""
        return RunStates(len(self), len(self.steps.moves) + 1, self.folder, STATES_IN_MEMORY)

    @cached_property
    def _memory(self) -> PrefixMemory[Crossing]:
        return PrefixMemory(self.state_bytes)

    def _watch(self) -> None:
        """Compute full runs whose states are not known."""
        if len(self._present) < len(self):
            self.runner.watched(self._states.keep, self._present)
            self._present.update(range(len(self)))

    def _crossed(self, schedule: Schedule) -> list[Metrics]:
        """Metrics of all examples, each under weights that were fitted to the others."""
        self._forget_other_groups()
        memory = self._memory if self.state_bytes else None
        ends = crossed(schedule, self.steps, self._at, self._velocities, memory=memory).ends
        return self.runner.measure_ends(dict(enumerate(ends)), self.steps.end_level)

    def _forget_other_groups(self) -> None:
        """Forget what was computed in other groups, in which results are rounded otherwise."""
        if self.runner.grouping != self._grouping:
            self._memory.clear()
            self._policies.clear()
            self._grouping = self.runner.grouping

    def _at(self, step: int) -> list[Tensor]:
        """States of all full runs."""
        return [self._states.at(number, step) for number in range(len(self))]

    def _velocities(self, step: int, now: list[Tensor]) -> list[Tensor]:
        by_number = self.runner.velocities(step, dict(enumerate(now)))
        self._full_steps += len(self)
        return [by_number[number] for number in range(len(self))]
