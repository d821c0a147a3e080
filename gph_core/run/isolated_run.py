"""A full run in which every step can be tried as the only cached one.

Each step is called twice: first as a cached step, whose result is not used, then in full. Errors of
features that are predicted over longer distances are measured on the way.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from ..policies.base import Anchor, Policy, Prediction, Streams
from ..schedule import Schedule
from .active_run import ActiveRun
from .decision import Decision


class IsolatedRun(ActiveRun):
    """Computes every step in full, except within ``cached``.

    Args:
        reach: the longest distance, in steps, from a full step to one that is predicted from it.
            Policies that predict from their own predictions are measured over one step alone.

    Raises:
        ValueError: what the policy predicts is not known before the step, or see ``Policy.check``.
    """

    def __init__(
        self,
        policy: Policy,
        sigmas: Sequence[float],
        reach: int = 1,
        device_budget: float = math.inf,
        family: str = "",
    ) -> None:
        if not isinstance(policy, Prediction):
            raise ValueError(
                f"the feature error of {policy} cannot be measured, as it is predicted inside the "
                "model; choose a policy that predicts before the step, such as residual reuse"
            )
        num_steps = len(sigmas) - 1
        first = Schedule(tuple(range(min(policy.min_anchors, num_steps))), num_steps)
        self.reach = 1 if policy.keeps_predictions else reach
        super().__init__(
            first, policy, sigmas, device_budget, family, for_others=True, spare=self.reach - 1
        )
        for step in range(num_steps):
            self.kinds.make_full(step)
        self._refused: set[int] = set()
        self._squares: defaultdict[int, list[float]] = defaultdict(lambda: [0.0] * self.reach)

    @contextmanager
    def cached(self, step: int) -> Iterator[None]:
        """Predict calls of a step within the block from the full steps before it; keep nothing.

        ``ValueError`` at the end if one of them was computed after all.
        """
        self.kinds.make_cached(step)
        try:
            yield
        finally:
            self.kinds.make_full(step)
        if step in self._refused:
            raise ValueError(
                f"step {step} cannot be cached in this workflow ({'; '.join(self.notes)}); take "
                "out what changes the prompts or the model on the way"
            )

    def feature_errors(self, step: int) -> tuple[float, ...]:
        """``‖r‖`` of a step that was computed in full, by the distance of its anchor from 1 on.

        L2 norm of predicted minus full feature, over all branches. All steps up to the anchor count
        as full. Shorter than ``reach`` where the run begins.
        """
        return tuple(math.sqrt(square) for square in self._squares[step][: min(step, self.reach)])

    def begin_call(self, sigma: float, branches: Sequence[Hashable], leading: int = 0) -> Decision:
        decision = super().begin_call(sigma, branches, leading)
        step = decision.step
        if decision.anchors is None:
            if step is not None and not self.kinds.is_full(step):
                self._refused.add(step)
            return decision
        usual = tuple(anchors[: self.policy.num_anchors] for anchors in decision.anchors)
        return decision._replace(anchors=usual)

    def end_call(
        self,
        decision: Decision,
        branches: Sequence[Hashable],
        features: Sequence[Streams] | None,
        probes: Sequence[Streams | None] = (),
        latent: Tensor | None = None,
    ) -> None:
        step = decision.step
        if decision.is_cached or step is None or not self.kinds.is_full(step):
            return
        if features is not None:
            latents = [None] * len(branches) if latent is None else latent.chunk(len(branches))
            for branch, feature, state in zip(branches, features, latents, strict=True):
                self._measure(decision, self.anchors.held.get(branch, []), feature, state)
        super().end_call(decision, branches, features, probes, latent)

    def _measure(
        self, decision: Decision, held: Sequence[Anchor], actual: Streams, state: Tensor | None
    ) -> None:
        """Add a branch to the errors of its step."""
        assert isinstance(self.policy, Prediction)
        step = decision.step
        assert step is not None
        now = decision.now(state)
        for distance in range(1, min(step, self.reach) + 1):
            anchors = [a for a in held if a.step <= step - distance][: self.policy.num_anchors]
            if not anchors or anchors[0].step != step - distance:
                continue  # the branch was not there; a cached step is refused for the same reason
            here = [anchor.to(actual[0].device) for anchor in anchors]
            predicted = self.policy.predict(here, now)
            self._squares[step][distance - 1] += sum(map(_square_distance, predicted, actual))


def _square_distance(one: Tensor, other: Tensor) -> float:
    """Squared distance in float32: features are large, and not every accelerator has float64."""
    return torch.linalg.vector_norm(one.float() - other.float()).item() ** 2
