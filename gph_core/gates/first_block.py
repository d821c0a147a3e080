"""First-Block-Cache: what the first block adds says whether the other blocks do as before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from .base import Gate, Look, Seen
from .relative_l1 import relative_change


@dataclass(frozen=True)
class FirstBlockCache(Gate):
    """The relative change of the first block's residual since the newest full step.

    Nothing adds up. The state is that residual.

    Source: ParaAttention's first block cache, without its downsampling.
    """

    threshold: float

    look: ClassVar[Look] = Look.FIRST_BLOCK

    def signal(self, seen: Seen, forced: bool) -> Tensor:
        assert seen.probe is not None
        assert seen.tokens is not None
        return seen.probe - seen.tokens

    def value(self, state: Tensor | None, signal: Tensor) -> float:
        return math.inf if state is None else relative_change(signal, state)

    def after(self, state: Tensor | None, signal: Tensor, value: float, is_cached: bool) -> Tensor:
        if is_cached:
            assert state is not None
            return state
        return signal
