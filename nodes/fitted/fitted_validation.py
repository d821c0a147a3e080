"""Validation of a search that fits weights to every schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.schedule import Schedule
from ...gph_core.search.study import Measurement


class UnderPolicies(Protocol):
    """Examples that can be measured under any policy."""

    @property
    def batch(self) -> int: ...
    @property
    def notes(self) -> list[str]: ...

    def __len__(self) -> int: ...
    def begin(self) -> None: ...
    def forget(self) -> None: ...
    def under(self, policy: Policy) -> UnderPolicies: ...
    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement: ...


class FittedValidation:
    """Validation examples under weights that were fitted to the scoring examples."""

    def __init__(
        self,
        examples: UnderPolicies,
        policy_for: Callable[[Schedule], Fitted],
    ) -> None:
        self._examples, self._policy_for = examples, policy_for

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def batch(self) -> int:
        return self._examples.batch

    @property
    def notes(self) -> list[str]:
        return self._examples.notes

    def begin(self) -> None:
        self._examples.begin()

    def forget(self) -> None:
        self._examples.forget()

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        return self._examples.under(self._policy_for(schedule)).measure(schedule, examples)
