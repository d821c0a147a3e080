"""Decision on one call of the model, and what its feature is predicted from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..policies.base import Anchor, Now, Policy, Prediction, Streams
from .anchors import concatenated, joined


class Decision(NamedTuple):
    """Choice of what to do in one call."""

    step: int | None  # None off the grid
    sigma: float
    sigma_next: float | None  # at the end of the step; None off the grid
    anchors: tuple[list[Anchor], ...] | None  # of each branch; None for a full call
    keeps: bool  # whether what this call computes or predicts will be used
    call: int  # counts the calls of the run
    leader: int | None = None  # which of the branches the gate has to see; None: none of them

    @property
    def is_cached(self) -> bool:
        return self.anchors is not None

    @property
    def is_open(self) -> bool:
        """Whether the step can be cached, but the gate has not decided yet."""
        return self.is_cached and self.leader is not None

    def now(self, latent: Tensor | None) -> Now:
        """The step of a call on the grid, for a policy.

        Args:
            latent: the state of one branch.
        """
        assert self.step is not None
        assert self.sigma_next is not None
        return Now(self.step, self.sigma, self.sigma_next, latent)

    def predicted(self, policy: Policy, like: Tensor) -> Streams:
        """The feature of a cached call under a ``Prediction``, all branches in one batch.

        Args:
            like: a tensor on the device of the call; the states of the branches in one batch, for
                policies that use states.
        """
        assert self.anchors is not None
        assert isinstance(policy, Prediction)
        parts = []
        for of_branch, latent in zip(self.anchors, like.chunk(len(self.anchors)), strict=True):
            here = [anchor.to(like.device) for anchor in of_branch]
            parts.append(policy.predict(here, self.now(latent)))
        return concatenated(parts)

    def probe_anchors(self, device: torch.device) -> tuple[Anchor, Anchor]:
        """The two newest anchors for a ``ProbedPrediction``, all branches in one batch.

        A branch with one anchor counts it twice, which is reuse.
        """
        assert self.anchors is not None
        here = [[anchor.to(device) for anchor in anchors[:2]] for anchors in self.anchors]
        return joined([anchors[0] for anchors in here]), joined([anchors[-1] for anchors in here])

    def new_anchors(
        self,
        features: Sequence[Streams],
        probes: Sequence[Streams | None],
        latent: Tensor | None,
    ) -> list[Anchor]:
        """The anchors that a call on the grid leaves, one for each branch.

        Args:
            features: what was computed or predicted, of each branch.
            probes: residuals of the first block, of each branch; none where nobody uses them.
            latent: the states of the branches in one batch; None where nobody uses them.
        """
        assert self.step is not None
        none = [None] * len(features)
        latents = none if latent is None else latent.chunk(len(features))
        items = zip(features, latents, probes or none, strict=True)
        return [Anchor(self.step, self.sigma, *item) for item in items]
