"""Two-anchor prediction: the first block's output says how far along a trend this step is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .base import ProbedPrediction, cast

# Usual range of the published codes: 1 is reuse of the newest anchor, more goes beyond it.
MIN_GAMMA, MAX_GAMMA = 1.0, 1.5


@dataclass(frozen=True)
class TwoAnchor(ProbedPrediction):
    """``R2 + γ (R1 - R2)``, γ = mean|P - P2| / mean|P1 - P2| clamped to [1, ``max_gamma``].

    R1, P1 are the residuals of the stack and of its first block at the newest full step, R2, P2 at
    the one before, P that of the first block now. Each sample of the batch has its own γ, so that
    none depends on the others.

    Source: DiCache, arXiv 2508.17356, with the clamp of the GPH paper on every model; its own code
    for Wan goes to 2.
    """

    max_gamma: float = MAX_GAMMA

    min_anchors = 2

    def __post_init__(self) -> None:
        if not MIN_GAMMA <= self.max_gamma < math.inf:
            raise ValueError(f"γ goes from 1 to a number, got {self.max_gamma!r}")

    def extrapolate(
        self, probe: Tensor, probes: tuple[Tensor, Tensor], residuals: tuple[Tensor, Tensor]
    ) -> Tensor:
        (newest, before), (r1, r2) = probes, residuals
        span = (newest.float() - before.float()).abs().mean(_inner(probe), keepdim=True)
        moved = (probe.float() - before.float()).abs().mean(_inner(probe), keepdim=True)
        gamma = moved / span.clamp_min(torch.finfo(torch.float32).eps)
        # Overflow in low precision makes it inf or nan; 1 is plain reuse.
        gamma = gamma.nan_to_num(nan=MIN_GAMMA, posinf=MIN_GAMMA).clamp(MIN_GAMMA, self.max_gamma)
        return cast(r2.float() + gamma * (r1.float() - r2.float()), r1.dtype)

    def __str__(self) -> str:
        return "two-anchor" + (f", γ to {self.max_gamma:g}" if self.max_gamma != MAX_GAMMA else "")


def _inner(tokens: Tensor) -> list[int]:
    """All dimensions but the batch; packed tokens ``[T, C]`` have none and are one sample."""
    return list(range(1 if tokens.ndim > 2 else 0, tokens.ndim))
