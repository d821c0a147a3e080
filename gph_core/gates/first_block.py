"""First-Block-Cache: the first block's residual shows whether the other blocks act as before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from .base import Gate, GateInput, Look
from .relative_l1 import relative_change


@dataclass(frozen=True)
class FirstBlockCache(Gate):
    """The relative change of the first block's residual since the newest full step.

    The state is the residual of that step; nothing adds up.

    Source: ParaAttention's first block cache, without its downsampling.
    """

    threshold: float

    look: ClassVar[Look] = Look.FIRST_BLOCK

    def signal(self, gate_input: GateInput, forced: bool) -> Tensor:
        assert gate_input.probe is not None
        assert gate_input.tokens is not None
        return gate_input.probe - gate_input.tokens

    def value(self, state: Tensor | None, signal: Tensor) -> float:
        return math.inf if state is None else relative_change(signal, state)

    def after(self, state: Tensor | None, signal: Tensor, value: float, is_cached: bool) -> Tensor:
        if is_cached:
            assert state is not None
            return state
        return signal
