"""Gates: rules that decide during a run, step by step, whether a step is cached.

At each step a gate looks at the *leader branch*, turns what it sees into a number, and the step
is cached if that number is below the gate's threshold. Which steps are full whatever the gate says
(the first ones, the last one) belongs to the run. A gate is frozen; its state begins with None and
is handed from step to step.
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

    LATENT = "latent"  # not at all
    MODULATED = "modulated input"  # up to what the first block's attention receives
    FIRST_BLOCK = "first block"  # up to the first block's output


@dataclass(frozen=True, slots=True)
class GateInput:
    """Observation of the leader branch at one step; None where the gate's ``look`` is shorter.

    Tokens are those of the image or video alone, without reference tokens, where these can be told
    apart. A gate may keep the tensors: what somebody changes in place later has to be a copy.
    """

    step: int
    sigma: float
    latent: Tensor | None = None  # [B, C, ...] that the model receives, without what is added to it
    modulated: Tensor | None = None  # [B, T, C] that the first block's attention receives
    tokens: Tensor | None = None  # [B, T, C] that the first block receives
    probe: Tensor | None = None  # [B, T, C] that it hands on
    # Of the tokens: (H, W), or (F, H, W) of a video; () if they are more than the image's own.
    grid: tuple[int, ...] = ()


class Step(NamedTuple):
    """One decision of a gate."""

    state: Any  # for the next step
    value: float  # that was compared; full at any threshold: inf by the rule, NaN as it broke down
    is_cached: bool


class Gate(ABC):
    """A rule with its threshold; larger caches more. Concrete ones are frozen dataclasses."""

    look: ClassVar[Look]
    reads_outputs: ClassVar[bool] = False  # it needs ``computed``
    needs_grid: ClassVar[bool] = False  # it needs to know where the tokens are
    threshold: float

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def __str__(self) -> str:
        return f"{type(self).__name__}, threshold {self.threshold:.4g}"

    @abstractmethod
    def signal(self, gate_input: GateInput, forced: bool) -> Any:
        """Signal of a step that the rule compares; made once a step, as it can be costly."""

    @abstractmethod
    def value(self, state: Any, signal: Any) -> float:
        """Value to compare with the threshold; inf or NaN where the rule computes in any case."""

    @abstractmethod
    def after(self, state: Any, signal: Any, value: float, is_cached: bool) -> Any:
        """The state for the next step, once this one is decided."""

    def computed(self, state: Any, gate_input: GateInput, output: Tensor) -> Any:
        """The state once a full step's output is known: the velocity of the leader branch."""
        return state

    def step(self, state: Any, gate_input: GateInput, forced: bool = False) -> Step:
        """Decide on one step.

        Args:
            state: of the step before; None at the first one.
            forced: the step is full whatever the rule says; the state goes on all the same.
        """
        signal = self.signal(gate_input, forced)
        value = self.value(state, signal)
        # A signal that broke down is computed in full, at an infinite threshold too.
        value = math.inf if math.isinf(value) else value
        is_cached = not forced and math.isfinite(value) and value < self.threshold
        return Step(self.after(state, signal, value, is_cached), value, is_cached)


def check_threshold(threshold: float) -> None:
    """Raise ``ValueError`` unless it is a number from 0 on; inf caches whatever is not forced."""
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not is_number or not threshold >= 0:  # NaN is not
        raise ValueError(f"a threshold is a number from 0 on, got {threshold!r}")
