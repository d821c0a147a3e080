"""Damped velocity: extrapolates the guided velocity, less the stronger guidance and reach are."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..noise import without_shift
from ..schedule import Schedule
from .base import Anchor, Now, Prediction, Site, Streams, combine_anchors

# Chosen on the image demo model, see docs/decisions/policies_and_gates.md.
DAMPING = 2.0
FAR = 0.73  # of guidance times gap: beyond it residual reuse is better
MULTISTEP = 1.5  # how much longer a gap counts for a sampler that extrapolates itself


@dataclass(frozen=True)
class DampedVelocity(Prediction):
    """``v_a + λ (σ - σ_a) / (σ_a - σ_b) (v_a - v_b)``, a and b the two newest full steps.

    ``λ = max(0, 1 - DAMPING |g - 1| (u_a - u))``: g is the scale of guidance, u_a and u are the
    noise levels at step a and after the cached step, without the model's shift, as shares of that
    where the run begins. At λ = 1 this is
    the Adams-Bashforth method of order 2 with unequal steps, at λ = 0 the velocity is repeated.

    Args:
        guidance: g of the run; None as long as no run is known.
        halfway, sigma_max: see ``without_shift``.
        begin: noise level where the run begins.
        is_multistep: whether the sampler uses earlier steps, too; u_a - u then counts
            ``MULTISTEP`` times.
    """

    guidance: float | None = None
    halfway: float = 0.5
    sigma_max: float = 1.0
    begin: float = 1.0
    is_multistep: bool = False

    site = Site.GUIDED
    num_anchors = 2

    def of_run(self, **facts: float | bool) -> DampedVelocity:
        return replace(self, **facts)

    def strength(self, sigma: float, sigma_next: float) -> float:
        """λ of a cached step that ends at ``sigma_next``, after a full step at ``sigma``."""
        newest, end = self._shares((sigma, sigma_next))
        return max(0.0, 1 - DAMPING * self._guided * float(newest - end))

    def is_far(self, schedule: Schedule, sigmas: Sequence[float]) -> bool:
        """Whether the longest gap with cached steps is too long for the guidance.

        Args:
            sigmas: N + 1 noise levels.
        """
        levels = self._shares(sigmas)
        ends = itertools.pairwise((*schedule.full_steps, schedule.num_steps))
        gaps = (float(levels[a] - levels[b]) for a, b in ends if b - a > 1)
        return self._guided * max(gaps, default=0.0) > FAR

    def _shares(self, sigmas: Sequence[float]) -> np.ndarray:
        """Noise levels as shares of that where the run begins."""
        begin, *levels = without_shift((self.begin, *sigmas), self.halfway, self.sigma_max)
        return np.array(levels) / begin

    @property
    def _guided(self) -> float:
        """Weight of what guidance adds to a velocity, as the sampler feels it."""
        counts = MULTISTEP if self.is_multistep else 1
        return 0.0 if self.guidance is None else counts * abs(self.guidance - 1)

    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        if len(anchors) < 2 or not anchors[0].sigma < anchors[1].sigma:
            return anchors[0].feature
        weight = self.weight(anchors[0].sigma, anchors[1].sigma, now.sigma, now.sigma_next)
        return combine_anchors(anchors, (1 + weight, -weight) if weight else (1.0,))

    def weight(self, newest: float, before: float, sigma: float, sigma_next: float) -> float:
        """Share of the newest change that is added, from the noise levels of the steps."""
        reach = (sigma - newest) / (newest - before)
        return reach * self.strength(newest, sigma_next)

    def weights(self, sigmas: Sequence[float], anchors: Sequence[int], step: int) -> list[float]:
        """Weights of the newest full steps at a cached step, newest first."""
        if len(anchors) < 2:
            return [1.0]
        newest, before, sigma, following = (
            sigmas[n] for n in (anchors[0], anchors[1], step, step + 1)
        )
        weight = self.weight(newest, before, sigma, following)
        return [1 + weight, -weight]

    def __str__(self) -> str:
        return "damped velocity"
