"""Reuse of the offset between a velocity and its latent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .base import Anchor, Now, Prediction, Site, Streams, cast


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
