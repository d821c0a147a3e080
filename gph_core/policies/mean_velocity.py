"""Interval-average velocity: extrapolate the velocity from past states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .base import Anchor, Now, Prediction, Site, Streams

MAX_SPAN = 6


@dataclass(frozen=True)
class MeanVelocity(Prediction):
    """``v + (σ_next - σ) J`` with ``J = (ū - v_r) / (σ - σ_r)``, ``ū = (z - z_r) / (σ - σ_r)``.

    v is the velocity used at the step before, full or cached; r lies ``span`` steps back. Span 1 is
    reuse of v. For a velocity that is linear in σ it is an extrapolation damped by the span.

    Args:
        span: steps to look back, 1 to 6, on every cached step that ``spans`` does not name.
        spans: pairs of a cached step and its own span, as published with a schedule.

    Source: MeanCache, arXiv 2601.19961. On a schedule without spans of its own the GPH paper
    takes 4.
    """

    span: int = 4
    spans: tuple[tuple[int, int], ...] = ()

    site = Site.GUIDED
    min_anchors = 2
    uses_latents = True
    keeps_predictions = True

    def __post_init__(self) -> None:
        for span in (self.span, *(span for _, span in self.spans)):
            if not 1 <= span <= MAX_SPAN:
                raise ValueError(f"a span is 1 to {MAX_SPAN} steps, got {span}")
        longest = max(self.span, *(span for _, span in self.spans), 1)
        object.__setattr__(self, "num_anchors", longest)
        object.__setattr__(self, "_of_step", dict(self.spans))
        if self.spans:  # a published schedule may cache step 1, which then repeats step 0
            object.__setattr__(self, "min_anchors", 1)

    def part(self, first: int, num_steps: int) -> MeanVelocity:
        return replace(self, spans=tuple((step - first, span) for step, span in self.spans))

    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        own = self._of_step  # type: ignore[attr-defined] - set above
        span = min(own.get(now.step, self.span), len(anchors))
        (v,), oldest = anchors[0].feature, anchors[span - 1]
        distance = now.sigma - oldest.sigma
        if span == 1 or abs(distance) < 1e-12:
            return (v,)
        assert now.latent is not None
        assert oldest.latent is not None
        (v_r,) = oldest.feature
        mean = (now.latent.float() - oldest.latent.float()) / distance
        slope = (mean - v_r.float()) / distance
        return ((v.float() + (now.sigma_next - now.sigma) * slope).to(v.dtype),)

    def __str__(self) -> str:
        return f"mean velocity, {'spans of the schedule' if self.spans else f'span {self.span}'}"
