"""Prefix reuse: schedules with the same first full steps share the state after them.

If the sampler keeps nothing but its state from step to step, a run can begin there, and its result
is the same bit for bit.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter, OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from torch import Tensor

from ..policies.base import Anchor
from ..schedule import Schedule


@dataclass(frozen=True, slots=True)
class State:
    """A run right before a step: what it needs to continue."""

    step: int
    latent: Tensor  # as the sampler holds it
    anchors: Mapping[Hashable, tuple[Anchor, ...]]  # of each branch, newest first

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors that it keeps alive; two states may share anchors."""
        held = (anchor for anchors in self.anchors.values() for anchor in anchors)
        return [self.latent, *(tensor for anchor in held for tensor in anchor.tensors)]


class Held(Protocol):
    """What a memory keeps: a step, and the tensors kept alive for it."""

    @property
    def step(self) -> int: ...

    @property
    def tensors(self) -> list[Tensor]: ...


Kept = TypeVar("Kept", bound=Held)


class PrefixMemory(Generic[Kept]):
    """States after full steps, by run (examples and batch) and full steps so far.

    Beyond a budget in bytes, the least recently used state is dropped.
    """

    def __init__(self, budget: float) -> None:
        self.num_bytes = 0
        self.budget = budget
        self._states: OrderedDict[tuple[Hashable, tuple[int, ...]], Kept] = OrderedDict()
        self._users: Counter[int] = Counter()  # of each tensor, by id: the states hold them

    def longest(self, run: Hashable, schedule: Schedule, before: float = math.inf) -> Kept | None:
        """The latest state before a step that a run under this schedule passes through."""
        full, latest = [step for step in schedule.full_steps if step + 1 < before], None
        for count in range(1, len(full) + 1):
            key = run, tuple(full[:count])
            if key in self._states:
                self._states.move_to_end(key)
                latest = self._states[key]
        return latest

    def wants(self, run: Hashable, schedule: Schedule, step: int) -> bool:
        """Whether to keep the state before a step: it follows a full step, and is new."""
        prefix = _before(schedule, step)
        return bool(prefix) and prefix[-1] == step - 1 and (run, prefix) not in self._states

    def keep(self, run: Hashable, schedule: Schedule, state: Kept) -> None:
        """Remember a state of a run under this schedule."""
        self._states[run, _before(schedule, state.step)] = state
        for tensor in state.tensors:
            self._users[id(tensor)] += 1
            if self._users[id(tensor)] == 1:
                self.num_bytes += _bytes(tensor)
        while self.num_bytes > self.budget:
            self._drop()

    def clear(self) -> None:
        """Forget everything."""
        self._states.clear()
        self._users.clear()
        self.num_bytes = 0

    def _drop(self) -> None:
        _, state = self._states.popitem(last=False)
        for tensor in state.tensors:
            self._users[id(tensor)] -= 1
            if not self._users[id(tensor)]:
                del self._users[id(tensor)]
                self.num_bytes -= _bytes(tensor)


def _before(schedule: Schedule, step: int) -> tuple[int, ...]:
    return schedule.full_steps[: bisect.bisect_left(schedule.full_steps, step)]


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
