"""Approximation policies: predict a feature at a cached step from anchors of earlier full steps.

Every policy here is a rule for weights: the prediction is a weighted sum of anchor features, newest
first. The weights are scalars computed in double precision; the tensors appear in ``combine`` only.

Notation, with anchors at steps s0 > s1 > s2 and features F0, F1, F2: gaps g1 = s0 - s1 and
g2 = s1 - s2, distance x = step - s0 >= 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor


class Policy(Protocol):
    """What the run needs to know of a policy."""

    @property
    def num_anchors(self) -> int:
        """Anchors it can use; bounds the memory."""
        ...

    def weights(self, anchor_steps: Sequence[int], step: int) -> list[float]:
        """Weights of the anchors (newest first) at a cached step; they sum to 1.

        Fewer anchors than ``num_anchors`` lower the order; one anchor is reuse.
        """
        ...

    def __str__(self) -> str: ...


def combine(features: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Weighted sum of features of one shape, accumulated in float32 and cast back once.

    A single feature with weight 1 is returned itself: reuse costs nothing.
    """
    if len(features) == 1 and weights[0] == 1:
        return features[0]
    total = features[0].to(torch.float32) * weights[0]
    for feature, weight in zip(features[1:], weights[1:], strict=True):
        total.add_(feature, alpha=weight)
    return total.to(features[0].dtype)


def _difference_weights(steps: Sequence[int], c1: float, c2: float) -> list[float]:
    """Weights of ``F0 + c1 D1 + c2 D2`` over as many anchors as there are, three at most.

    D1 = (F0 - F1) / g1 and D2 = (D1 - (F1 - F2) / g2) / g1. This is the recursion of the published
    codes; it divides by the newest gap only, so on unequal gaps it is no divided difference.
    """
    if len(steps) == 1:
        return [1.0]
    g1 = steps[0] - steps[1]
    if len(steps) == 2:
        return [1 + c1 / g1, -c1 / g1]
    g2 = steps[1] - steps[2]
    return [
        1 + c1 / g1 + c2 / g1**2,
        -c1 / g1 - c2 / g1**2 - c2 / (g1 * g2),
        c2 / (g1 * g2),
    ]


@dataclass(frozen=True, slots=True)
class Reuse:
    """Residual reuse: the newest anchor as it is."""

    num_anchors: ClassVar[int] = 1

    def weights(self, anchor_steps: Sequence[int], step: int) -> list[float]:
        return [1.0]

    def __str__(self) -> str:
        return "residual reuse"


@dataclass(frozen=True, slots=True)
class Taylor:
    """Taylor extrapolation of order 1 or 2: ``F0 + x D1 + x²/2 D2``.

    Source: TaylorSeer, arXiv 2503.06923, applied to the whole-stack residual as in the seed paper.
    """

    order: int = 1

    def __post_init__(self) -> None:
        _check_order("Taylor", self.order)

    @property
    def num_anchors(self) -> int:
        return self.order + 1

    def weights(self, anchor_steps: Sequence[int], step: int) -> list[float]:
        x = step - anchor_steps[0]
        return _difference_weights(anchor_steps[: self.num_anchors], x, x**2 / 2)

    def __str__(self) -> str:
        return f"Taylor order {self.order}"


@dataclass(frozen=True, slots=True)
class Hermite:
    """Scaled Hermite extrapolation of order 1 or 2: a damped Taylor extrapolation.

    ``F0 + 2 σ² x D1 + (2 σ⁴ x² - σ²) D2``; at order 2 it does not interpolate (the constant stays).

    Source: HiCache, arXiv 2508.16984, dual scaling with σ = 0.5.
    """

    order: int = 2
    scale: float = 0.5

    def __post_init__(self) -> None:
        _check_order("Hermite", self.order)
        if not 0 < self.scale <= 1:
            raise ValueError(f"the Hermite scale must be above 0 and at most 1, got {self.scale}")

    @property
    def num_anchors(self) -> int:
        return self.order + 1

    def weights(self, anchor_steps: Sequence[int], step: int) -> list[float]:
        x, s = step - anchor_steps[0], self.scale
        steps = anchor_steps[: self.num_anchors]
        return _difference_weights(steps, 2 * s**2 * x, 2 * s**4 * x**2 - s**2)

    def __str__(self) -> str:
        return f"Hermite order {self.order}, scale {self.scale:g}"


def _check_order(name: str, order: int) -> None:
    if order not in (1, 2):
        raise ValueError(f"{name} extrapolation has order 1 or 2, got {order}")
