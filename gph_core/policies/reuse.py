"""Reuse of a part of the newest full step, added to what is known of this step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from .base import Anchor, Now, Prediction, ProbedPrediction, Site, Streams, cast


@dataclass(frozen=True)
class OffsetReuse(Prediction):
    """``x + (y_a - x_a)``: the velocity lies as far from the latent as at the newest full step.

    The latents are those of the branch alone, in the shape of its velocity.

    Source: EasyCache of H-EmbodVis.
    """

    site = Site.OUTPUT
    uses_latents = True

    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        (velocity,), latent = anchors[0].feature, anchors[0].latent
        assert now.latent is not None
        assert latent is not None
        moved = now.latent.float() - latent.float()
        return (cast(velocity.float() + moved, velocity.dtype),)

    def __str__(self) -> str:
        return "output offset reuse"


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
