"""Approximation policies: predict a feature at a cached step from anchors of earlier steps.

A policy names the *site* whose feature it predicts and how many anchors it uses. Anchors come
newest first. ``extrapolation`` holds the policies that are a rule for weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import torch
from torch import Tensor

from ..schedule import Schedule

# A feature has one tensor per stream of the transformer: most have one, LTX-2 video and audio.
Streams = tuple[Tensor, ...]


class Site(Enum):
    """Feature that is predicted."""

    STACK = "stack residual"  # change of the image tokens across all blocks, per branch
    OUTPUT = "branch output"  # velocity of one branch; the transformer is not called
    GUIDED = "guided velocity"  # velocity after guidance; no branch is called


@dataclass(frozen=True, slots=True)
class Anchor:
    """Memory of one branch at one step."""

    step: int
    sigma: float
    feature: Streams
    latent: Tensor | None = None  # the state at the step, where the policy uses it
    probe: Streams | None = None  # the residual of the first block, where the policy uses it

    @property
    def tensors(self) -> Streams:
        """All tensors that it keeps alive."""
        latent = () if self.latent is None else (self.latent,)
        return (*self.feature, *(self.probe or ()), *latent)

    def to(self, device: torch.device) -> Anchor:
        """The anchor on a device; itself if it is there already."""
        if self.feature[0].device == device:
            return self

        def move(tensors: Streams) -> Streams:
            return tuple(t.to(device) for t in tensors)

        return Anchor(
            self.step,
            self.sigma,
            move(self.feature),
            None if self.latent is None else self.latent.to(device),
            None if self.probe is None else move(self.probe),
        )


@dataclass(frozen=True, slots=True)
class Now:
    """The cached step for which a feature is predicted."""

    step: int
    sigma: float
    sigma_next: float
    latent: Tensor | None = None


# How far a trend can be followed at a cached step, from 0 to 1, by its newest full step and itself.
Strength = Callable[[int, int], float]


class Policy:
    """Facts about a policy that the run needs; subclasses override those that differ.

    A policy is a ``Prediction`` or a ``ProbedPrediction``.
    """

    site: Site = Site.STACK
    num_anchors: int = 1  # most anchors that it uses; bounds the memory
    min_anchors: int = 1  # full steps that it needs before the first cached one
    uses_latents: bool = False  # it needs the states of its anchors
    keeps_predictions: bool = False  # cached steps leave anchors too
    replaces_tokens: bool = False  # its feature is the tokens, not their change
    has_fixed_ends: bool = True  # a search keeps the source's first full steps and the last one
    conditions: Mapping[str, Any] = {}  # under which it was fitted, see ``Calibration``

    def part(self, first: int, num_steps: int) -> Policy:
        """The policy for a run that takes only some of the steps of its schedule."""
        return self

    def of_run(self, **facts: float | bool) -> Policy:
        """The policy for runs of which these facts are known, see ``Conditions.told``."""
        return self

    def covered(self, schedule: Schedule) -> Schedule:
        """The schedule, with steps full too that the policy cannot predict under it."""
        return schedule

    def can_predict(self, step: int, anchors: Sequence[Anchor]) -> bool:
        """Whether a branch's anchors include those that a cached step needs."""
        return True

    def uses_second(self, step: int) -> bool:
        """Whether it needs the second prompt's velocity of a full step beside the guided one."""
        return False

    def risk(self, schedule: Schedule, strength: Strength | None = None) -> str:
        """Warning that the policy may ruin pictures under a schedule; empty if there is none.

        Args:
            strength: of damped velocity in a run of this schedule, if one is known.
        """
        return ""

    def check(self, schedule: Schedule, family: str = "") -> None:
        """Raise ``ValueError`` if the schedule gives too few anchors.

        A policy made for one model refuses another ``family``; empty means not known yet.
        """
        first_cached = schedule.first_cached
        if first_cached is not None and first_cached < self.min_anchors:
            raise ValueError(
                f"{self} needs {self.min_anchors} full steps before the first cached step; step "
                f"{first_cached} is cached. Make steps 0 to {self.min_anchors - 1} full, or "
                "choose another policy"
            )


class Prediction(Policy, ABC):
    """A policy that predicts before anything of the step is computed."""

    @abstractmethod
    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        """The feature at a cached step; with fewer than ``num_anchors`` the order is lower."""


class ProbedPrediction(Policy, ABC):
    """A policy that runs the first block on cached steps too and uses its residual."""

    num_anchors = 2

    @abstractmethod
    def extrapolate(
        self, probe: Tensor, probes: tuple[Tensor, Tensor], residuals: tuple[Tensor, Tensor]
    ) -> Tensor:
        """The residual of the stack at this step, ``[B, T, C]`` as its anchors.

        It runs inside a compiled model and therefore takes tensors only: a number such as the step
        would be compiled anew each time.

        Args:
            probe: residual of the first block now.
            probes: the same at the two newest anchors, newest first.
            residuals: of the stack at these anchors.
        """


def cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor in a dtype; values beyond half precision become its largest number.

    Models that compute in half precision treat their tokens alike.
    """
    if dtype is torch.float16:
        limit = torch.finfo(dtype).max
        tensor = tensor.clamp(-limit, limit)
    return tensor.to(dtype)


def combine(features: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Weighted sum of features of one shape, accumulated in float32 and cast back once.

    A single feature with weight 1 is returned itself: reuse costs nothing.
    """
    if len(features) == 1 and weights[0] == 1:
        return features[0]
    total = features[0].to(torch.float32) * weights[0]
    for feature, weight in zip(features[1:], weights[1:], strict=True):
        total.add_(feature, alpha=weight)
    return cast(total, features[0].dtype)


def combine_channels(features: Sequence[Tensor], weights: Sequence[Sequence[float]]) -> Tensor:
    """Like ``combine``, with weights for each channel of features ``[B, C, ...]`` or for all."""
    if all(len(of_channels) == 1 for of_channels in weights):
        return combine(features, [weight for (weight,) in weights])
    channels = features[0].shape[1]
    rows = [w if len(w) == channels else w * channels for w in map(tuple, weights)]
    shape = (len(rows), 1, channels, *[1] * (features[0].ndim - 2))
    # Moved to the device at once: each copy takes as long as the sum.
    factors = torch.tensor(rows, dtype=torch.float32).to(features[0].device).view(shape)
    total = features[0].to(torch.float32) * factors[0]
    for feature, factor in zip(features[1:], factors[1:], strict=True):
        total.addcmul_(feature.to(torch.float32), factor)
    return cast(total, features[0].dtype)


def combine_anchors(anchors: Sequence[Anchor], weights: Sequence[float]) -> Streams:
    """Weighted sum of the features of the newest anchors, stream by stream."""
    used = anchors[: len(weights)]
    return tuple(
        combine(stream, weights) for stream in zip(*(a.feature for a in used), strict=True)
    )


def options_of(policy: Policy) -> dict[str, Any]:
    """The options of a policy by name, with the weights and spans that its text leaves out."""
    own = fields(policy)  # type: ignore[arg-type] - every policy is a dataclass
    return {option.name: getattr(policy, option.name) for option in own}
