"""Decision on one call of the model, and what its feature is predicted from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..policies.base import Anchor, Now, Policy, Prediction, Streams
from .anchors import concatenated, joined


class Decision(NamedTuple):
    """Decision on one call."""

    step: int | None  # None if it is not known
    sigma: float  # that the model is told
    levels: tuple[float, float] | None  # where the step begins and ends; None without a step
    anchors: tuple[list[Anchor], ...] | None  # of each branch; None for a full call
    keeps: bool  # whether what this call computes or predicts will be used
    call: int  # counts the calls of the run
    leader: int | None = None  # which of the branches the gate has to see; None: none of them
    is_pending: bool = False  # only the end of the step shows whether it was this one, if any

    @property
    def is_cached(self) -> bool:
        return self.anchors is not None

    @property
    def is_open(self) -> bool:
        """Whether the step can be cached, but the gate has not decided yet."""
        return self.is_cached and self.leader is not None

    def now(self, latent: Tensor | None) -> Now:
        """The step of a call, for a policy.

        Args:
            latent: the state of one branch.
        """
        assert self.step is not None
        assert self.levels is not None
        return Now(self.step, *self.levels, latent)

    def predicted(self, policy: Policy, like: Tensor, tail: bool = False) -> Streams:
        """The feature of a cached call under a ``Prediction``, all branches in one batch.

        Args:
            like: a tensor on the device of the call; the states of the branches in one batch, for
                policies that use states.
            tail: see ``concatenated``.
        """
        assert self.anchors is not None
        assert isinstance(policy, Prediction)
        parts = []
        for of_branch, latent in zip(self.anchors, like.chunk(len(self.anchors)), strict=True):
            here = [anchor.to(like.device) for anchor in of_branch]
            parts.append(policy.predict(here, self.now(latent)))
        return concatenated(parts, tail)

    def probe_anchors(self, device: torch.device, tail: bool = False) -> tuple[Anchor, Anchor]:
        """The two newest anchors for a ``ProbedPrediction``, all branches in one batch.

        A branch with one anchor counts it twice, which is reuse.

        Args:
            tail: see ``concatenated``.
        """
        assert self.anchors is not None
        here = [[anchor.to(device) for anchor in anchors[:2]] for anchors in self.anchors]
        newest, oldest = ([anchors[place] for anchors in here] for place in (0, -1))
        return joined(newest, tail), joined(oldest, tail)

    def new_anchors(
        self,
        features: Sequence[Streams],
        probes: Sequence[Streams | None],
        latent: Tensor | None,
    ) -> list[Anchor]:
        """The anchors that a call leaves, one for each branch.

        Args:
            features: computed or predicted ones of each branch.
            probes: residuals of the first block of each branch; none if nobody uses them.
            latent: the states of the branches in one batch; None if nobody uses them.
        """
        assert self.step is not None
        assert self.levels is not None
        none = [None] * len(features)
        latents = none if latent is None else latent.chunk(len(features))
        items = zip(features, latents, probes or none, strict=True)
        return [Anchor(self.step, self.levels[0], *item) for item in items]
