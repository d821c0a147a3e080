"""Policies that extrapolate in the step number: reuse, Taylor, Hermite.

The prediction is a weighted sum of the anchors' features. The weights are scalars computed in
double precision; tensors appear in ``combine`` only.

Notation, with anchors at steps s0 > s1 > s2 and features F0, F1, F2: gaps g1 = s0 - s1 and
g2 = s1 - s2, distance x = step - s0 >= 1.
"""

from __future__ import annotations

import bisect
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..schedule import Schedule
from .base import Anchor, Now, Prediction, Site, Streams, Strength, combine_anchors

# Share of a run beyond which extrapolations began to fail in the benchmark, see docs/methods.md.
FAR = 0.1
_TOO_STRONG = (
    "{policy} extrapolates over {reach} steps up to step {step}, where guidance is too strong for "
    "that: damped velocity only repeats the velocity there. Compare with a full run; damped "
    "velocity or more full steps there are safer"
)


@dataclass(frozen=True)
class Reuse(Prediction):
    """The newest anchor as it is: ``F0``.

    At the stack: BudCache, arXiv 2606.13496. At the guided site with Euler it amounts to a run with
    fewer, unequal steps: the velocity is constant between two full steps.
    """

    site: Site = Site.STACK

    def weights(self, anchor_steps: Sequence[int], step: int) -> list[float]:
        return [1.0]

    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        return anchors[0].feature

    def __str__(self) -> str:
        return {
            Site.STACK: "residual reuse",
            Site.OUTPUT: "output reuse",
            Site.GUIDED: "velocity reuse",
        }[self.site]


@dataclass(frozen=True)
class Extrapolation(Prediction):
    """``F0 + c1 D1 + c2 D2`` with differences D and factors c of the concrete policy.

    Args:
        order: 1 or 2; needs ``order + 1`` anchors, fewer lower it.
        site: whose feature is predicted.
        divided: true divided differences instead of the published codes' recursion, which divides
            by the newest gap only. Exact on quadratics, but amplifies more.
        max_amplification: the order is lowered where the sum of the absolute weights exceeds it.
        max_distance: longest extrapolation in steps.
        first_enhance: the published codes' name; full steps before ``first_enhance - 1`` keep no
            differences, so with 3 those of step 2 are of order 1. 0: all keep them.
    """

    order: int = 1
    site: Site = field(default=Site.STACK, kw_only=True)
    divided: bool = field(default=False, kw_only=True)
    max_amplification: float | None = field(default=None, kw_only=True)
    max_distance: int | None = field(default=None, kw_only=True)
    first_enhance: int = field(default=0, kw_only=True)

    name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.order not in (1, 2):
            raise ValueError(f"{self.name} extrapolation has order 1 or 2, got {self.order}")
        if self.max_amplification is not None and self.max_amplification < 1:
            raise ValueError(
                f"an amplification below 1 is impossible, got {self.max_amplification:g}"
            )
        if self.max_distance is not None and self.max_distance < 1:
            raise ValueError(f"the distance limit must be at least 1, got {self.max_distance}")
        object.__setattr__(self, "num_anchors", self.order + 1)

    def part(self, first: int, num_steps: int) -> Extrapolation:
        return replace(self, first_enhance=max(0, self.first_enhance - first))

    @abstractmethod
    def factors(self, x: int) -> tuple[float, float]:
        """c1 and c2 at distance x."""

    def weights(self, anchor_steps: Sequence[int], step: int) -> list[float]:
        """Weights of the anchors (newest first) at a cached step; they sum to 1."""
        x = step - anchor_steps[0]
        if self.max_distance is not None:
            x = min(x, self.max_distance)
        # A difference of order k needs those of order k - 1 of the full step before.
        kept = sum(anchor >= self.first_enhance - 1 for anchor in anchor_steps)
        for order in range(min(self.order, len(anchor_steps) - 1, kept), 0, -1):
            weights = _weights(anchor_steps[: order + 1], self.factors(x), self.divided)
            limit = self.max_amplification
            if limit is None or sum(map(abs, weights)) <= limit:
                return weights
        return [1.0]

    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        return combine_anchors(anchors, self.weights([a.step for a in anchors], now.step))

    def reach(
        self, schedule: Schedule, strength: Strength = lambda full, step: 0.0
    ) -> tuple[int, int]:
        """Longest extrapolation in steps, and the cached step at its end; (0, 0) without any.

        Args:
            strength: steps where it is above 0 are left out.
        """

        def at(step: int) -> int:
            before = bisect.bisect_left(schedule.full_steps, step)
            full = schedule.full_steps[max(0, before - self.num_anchors) : before][::-1]
            if len(self.weights(full, step)) == 1 or strength(full[0], step) > 0:
                return 0
            return min(step - full[0], self.max_distance or step)

        return max(((at(step), step) for step in schedule.cached_steps), default=(0, 0))

    def risk(self, schedule: Schedule, strength: Strength | None = None) -> str:
        """By the share of the run; for the slope of a velocity by damped velocity's formula."""
        if strength is not None and self.site is not Site.STACK and self.order == 1:
            reach, step = self.reach(schedule, strength)
            return _TOO_STRONG.format(policy=self, reach=reach, step=step) if reach else ""
        reach, step = self.reach(schedule)
        share = reach / schedule.num_steps
        if share <= FAR:
            return ""
        return (
            f"{self} extrapolates over {reach} steps up to step {step}, {share:.0%} of the run; "
            f"beyond {FAR:.0%} the demo models' pictures were often ruined, above all with CFG. "
            "Compare with a full run; more full steps there or residual reuse are safer"
        )

    def __str__(self) -> str:
        options = [
            "divided differences" if self.divided else "",
            f"amplification at most {self.max_amplification:g}" if self.max_amplification else "",
            f"at most {self.max_distance} steps ahead" if self.max_distance else "",
            f"differences from step {self.first_enhance - 1} on" if self.first_enhance > 1 else "",
        ]
        site = {Site.STACK: "", Site.OUTPUT: "output ", Site.GUIDED: "velocity "}[self.site]
        return ", ".join([f"{site}{self.name} order {self.order}", *filter(None, options)])


@dataclass(frozen=True)
class Taylor(Extrapolation):
    """``F0 + x D1 + x²/2 D2``.

    Source: TaylorSeer, arXiv 2503.06923, applied to the whole-stack residual as in the GPH paper.
    """

    name: ClassVar[str] = "Taylor"

    def factors(self, x: int) -> tuple[float, float]:
        return x, x**2 / 2


@dataclass(frozen=True)
class TokenTaylor(Taylor):
    """Second-order Taylor prediction of the tokens after the last block, not of their change.

    Source: DPCache, arXiv 2602.22654, with one slot instead of its four.
    """

    order: int = 2
    min_anchors = 3
    replaces_tokens = True
    name: ClassVar[str] = "DPCache"


@dataclass(frozen=True)
class Hermite(Extrapolation):
    """Scaled Hermite extrapolation: ``F0 + 2 σ² x D1 + (2 σ⁴ x² - σ²) D2``.

    A damped Taylor extrapolation. At order 2 it does not pass through its anchors.

    Source: HiCache, arXiv 2508.16984, dual scaling with σ = 0.5.
    """

    order: int = 2
    scale: float = 0.5
    name: ClassVar[str] = "Hermite"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.scale <= 1:
            raise ValueError(f"the Hermite scale must be above 0 and at most 1, got {self.scale}")
        if self.order == 2:  # order 1 falls back to reuse, as Taylor does
            object.__setattr__(self, "min_anchors", 3)

    def factors(self, x: int) -> tuple[float, float]:
        s = self.scale
        return 2 * s**2 * x, 2 * s**4 * x**2 - s**2

    def __str__(self) -> str:
        return f"{super().__str__()}, scale {self.scale:g}"


def _weights(steps: Sequence[int], factors: tuple[float, float], divided: bool) -> list[float]:
    """Weights of two or three anchors: the formula is linear, so its value at unit features."""
    c1, c2 = factors
    g1 = steps[0] - steps[1]
    if len(steps) == 2:
        return [1 + c1 / g1, -c1 / g1]
    g2 = steps[1] - steps[2]

    def value(f0: float, f1: float, f2: float) -> float:
        newest, older = (f0 - f1) / g1, (f1 - f2) / g2
        if divided:
            curvature = (newest - older) / (g1 + g2)
            slope_at_s0 = newest + g1 * curvature
            return f0 + c1 * slope_at_s0 + c2 * 2 * curvature
        return f0 + c1 * newest + c2 * (newest - older) / g1

    return [value(1, 0, 0), value(0, 1, 0), value(0, 0, 1)]
