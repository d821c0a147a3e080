"""Decisions of a gate in one run: one for each step, made on one branch, valid for all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor

from .base import Gate, GateInput

UNOBSERVED = (
    "caching stopped because what the adaptive method looks at could not be observed; choose "
    "EasyCache, which looks at latents and outputs alone"
)
HANDED_OVER = (
    "steps were computed in full where another prompt or context window came first, which decides "
    "from then on"
)


class Gating:
    """The decisions of a gate in one run.

    The *leader branch* comes from the run's first call and leads while it is in each step's first
    call. When it is not, another branch takes over, and its first step is full.
    """

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.values: dict[int, float] = {}  # compared with the threshold, by step
        self.has_changed = False  # whether another branch has taken over
        self._state: Any = None
        self._gate_input: GateInput | None = None
        self._branch: Hashable = None

    @property
    def num_bytes(self) -> int:
        """Memory of all tensors that are kept for the next step."""
        kept = {id(tensor): tensor for tensor in _tensors((self._state, self._gate_input))}
        return sum(tensor.numel() * tensor.element_size() for tensor in kept.values())

    def place(self, step: int, branches: Sequence[Hashable], leading: int) -> int | None:
        """Place of the leader branch in a call; None if the step is decided already.

        Args:
            branches: those of the call.
            leading: place of the branch that takes over if the leader is not among them.
        """
        if step in self.values or not branches:
            return None
        if self._branch not in branches:
            self.has_changed = self._branch is not None
            self._branch, self._state = branches[leading], None
        return branches.index(self._branch)

    def decide(self, gate_input: GateInput, forced: bool) -> bool:
        """Whether the step is cached; a ``forced`` one is not, but the gate sees it."""
        self._state, value, is_cached = self.gate.step(self._state, gate_input, forced)
        self.values[gate_input.step] = value
        needs_output = self.gate.reads_outputs and not is_cached
        self._gate_input = gate_input if needs_output else None
        return is_cached

    def computed(self, step: int, branches: Sequence[Hashable], outputs: Sequence[Tensor]) -> None:
        """Pass the outputs of a full step to the gate, one for each branch of the call."""
        gate_input, self._gate_input = self._gate_input, None
        if gate_input is not None and gate_input.step == step and self._branch in branches:
            output = outputs[branches.index(self._branch)]
            self._state = self.gate.computed(self._state, gate_input, output)

    def compared(self, num_steps: int) -> tuple[float | None, ...]:
        """Value of each step that was compared with the threshold; None where none was."""
        values = (self.values.get(step, math.nan) for step in range(num_steps))
        return tuple(value if math.isfinite(value) else None for value in values)

    def clear(self) -> None:
        """Drop all tensors."""
        self._state = self._gate_input = None


def _tensors(kept: Any) -> Iterator[Tensor]:
    """The tensors of a state, which may be one or have them in its fields."""
    if is_dataclass(kept):
        kept = tuple(getattr(kept, field.name) for field in fields(kept))
    if isinstance(kept, Tensor):
        yield kept
    elif isinstance(kept, tuple | list):
        for part in kept:
            yield from _tensors(part)
