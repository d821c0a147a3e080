"""Reuse of what the blocks behind the first one add."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from .base import ProbedPrediction, cast


@dataclass(frozen=True)
class RestReuse(ProbedPrediction):
    """``P + R_a - P_a``: the first block as it is now, the others as at the newest full step.

    R and P are the residuals of the stack and of its first block.

    Source: ParaAttention's first block cache, image tokens only.
    """

    num_anchors = 1

    def extrapolate(
        self, probe: Tensor, probes: tuple[Tensor, Tensor], residuals: tuple[Tensor, Tensor]
    ) -> Tensor:
        residual = residuals[0]
        rest = residual.float() - probes[0].float()
        return cast(probe.float() + rest, residual.dtype)

    def __str__(self) -> str:
        return "reuse behind the first block"
