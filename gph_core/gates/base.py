"""Gates: rules that decide during a run, step by step, whether a step is cached.

At each step a gate looks at the *leader branch* and turns what it sees into a number; the step is
cached if that number is below the gate's threshold. The run knows which steps are full whatever the
gate says (the first ones, the last one). A gate is frozen; its state is None at first and is passed
from step to step.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple

from torch import Tensor


class Look(Enum):
    """Part of a step that has to be computed before a gate can decide."""

    LATENT = "latent"  # none
    MODULATED = "modulated input"  # up to what the first block's attention receives
    FIRST_BLOCK = "first block"  # up to the first block's output


@dataclass(frozen=True, slots=True)
class GateInput:
    """Observation of the leader branch at one step; None where the gate's ``look`` is shorter.

    Tokens are those of the image or video alone, without reference tokens if these can be told
    apart. A gate may keep the tensors, so those that are later changed in place have to be copies.
    """

    step: int
    sigma: float
    latent: Tensor | None = None  # [B, C, ...] that the model receives, without what is added to it
    modulated: Tensor | None = None  # [B, T, C] that the first block's attention receives
    tokens: Tensor | None = None  # [B, T, C] that the first block receives
    probe: Tensor | None = None  # [B, T, C] that it hands on
    # Of the tokens: (H, W), or (F, H, W) of a video; () if there are others than the image's own.
    grid: tuple[int, ...] = ()


class Step(NamedTuple):
    """One decision of a gate."""

    state: Any  # for the next step
    value: float  # compared with the threshold; inf: full by the rule, NaN: the signal broke down
    is_cached: bool


class Gate(ABC):
    """A rule with its threshold; larger caches more. Concrete ones are frozen dataclasses."""

    look: ClassVar[Look]
    reads_outputs: ClassVar[bool] = False  # it needs ``computed``
    needs_grid: ClassVar[bool] = False  # it needs the grid of the tokens
    threshold: float

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def __str__(self) -> str:
        return f"{type(self).__name__}, threshold {self.threshold:.4g}"

    @abstractmethod
    def signal(self, gate_input: GateInput, forced: bool) -> Any:
        """Signal of a step, which the rule compares; taken once for each step."""

    @abstractmethod
    def value(self, state: Any, signal: Any) -> float:
        """Value to compare with the threshold; inf or NaN: full at any threshold."""

    @abstractmethod
    def after(self, state: Any, signal: Any, value: float, is_cached: bool) -> Any:
        """The state for the next step, after the decision on this one."""

    def computed(self, state: Any, gate_input: GateInput, output: Tensor) -> Any:
        """The state after the output of a full step: the velocity of the leader branch."""
        return state

    def step(self, state: Any, gate_input: GateInput, forced: bool = False) -> Step:
        """Decide on one step.

        Args:
            state: that after the step before; None at the first one.
            forced: the step is full whatever the rule says, but changes the state.
        """
        signal = self.signal(gate_input, forced)
        value = self.value(state, signal)
        value = math.inf if math.isinf(value) else value  # minus infinity is no small change
        is_cached = not forced and math.isfinite(value) and value < self.threshold
        return Step(self.after(state, signal, value, is_cached), value, is_cached)


def check_threshold(threshold: float) -> None:
    """Raise ``ValueError`` unless it is a number from 0 on; inf caches all that is not forced."""
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not is_number or not threshold >= 0:  # NaN is not
        raise ValueError(f"a threshold is a number from 0 on, got {threshold!r}")
