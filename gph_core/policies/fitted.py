"""Fitted velocity: every cached step has weights of its own for the newest full steps."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..schedule import Schedule
from .base import Anchor, Now, Prediction, Site, Streams, combine
from .weights import Weights

# The conditions without which weights mean nothing. They are fitted to the states of one sampler,
# and its options can make it another one, such as one with noise.
NEEDED = ("family", "model", "sigmas", "cfg", "sampler", "sampler options")


@dataclass(frozen=True)
class Fitted(Prediction):
    """``Σ_i w_i v_i`` over the guided velocities v_i at some of the newest full steps.

    Args:
        schedule: text of the schedule that the weights were fitted for.
        weights: pairs of a cached step and its ``Weights``; none: still to be fitted.
        conditions: those under which they were fitted, see ``Calibration``.
        examples: number of examples that they were fitted to; 0 if not known.
        spare: further full steps of a part of a run, which lacks earlier ones.

    Source: ours, see ``closed_loop``.
    """

    schedule: str = ""
    weights: tuple[tuple[int, Weights], ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict, hash=False)
    examples: int = 0
    spare: int = 0

    site = Site.GUIDED
    has_fixed_ends = False

    def __post_init__(self) -> None:
        if not isinstance(self.conditions, Mapping):
            raise ValueError(f"the conditions of weights must be an object, not {self.conditions}")
        for step, weights in self.weights:
            steps = [anchor for anchor, _ in weights]
            falls = all(b < a for a, b in zip((step, *steps), steps, strict=False))
            if not (steps and falls and steps[-1] >= 0):
                raise ValueError(
                    f"the weights of step {step} belong to the steps {steps}; they must be earlier "
                    "steps, newest first"
                )
            if not all(math.isfinite(weight) for _, weight in weights):
                raise ValueError(f"the weights of step {step} are not all numbers")
        longest = max((len(weights) for _, weights in self.weights), default=1)
        object.__setattr__(self, "num_anchors", longest + self.spare)
        object.__setattr__(self, "_of_step", dict(self.weights))

    def part(self, first: int, num_steps: int) -> Fitted:
        """Weights for a run of some of the steps: those whose full steps it contains."""
        kept = tuple(
            (step - first, tuple((anchor - first, weight) for anchor, weight in weights))
            for step, weights in self.weights
            if weights[-1][0] >= first and step < first + num_steps
        )
        steps = sum(first <= step < first + num_steps for step, _ in self.weights)
        conditions = dict(self.conditions)
        if isinstance(conditions.get("sigmas"), (list, tuple)):
            conditions["sigmas"] = conditions["sigmas"][first : first + num_steps + 1]
        return replace(self, weights=kept, conditions=conditions, spare=steps - len(kept))

    @property
    def missing(self) -> tuple[str, ...]:
        """Needed conditions that are not stated, so that the weights may not suit a run."""
        return tuple(name for name in NEEDED if name not in self.conditions)

    def covered(self, schedule: Schedule) -> Schedule:
        given, full = set(schedule.full_steps), []
        newest: deque[int] = deque(maxlen=self.num_anchors)
        for step in range(schedule.num_steps):
            needed = [anchor for anchor, _ in self._weights_of(step)]
            if step in given or not needed or not all(anchor in newest for anchor in needed):
                full.append(step)
                newest.append(step)
        return Schedule(tuple(full), schedule.num_steps)

    def can_predict(self, step: int, anchors: Sequence[Anchor]) -> bool:
        needed = {anchor for anchor, _ in self._weights_of(step)}
        return bool(needed) and needed <= {anchor.step for anchor in anchors}

    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        features = {anchor.step: anchor.feature for anchor in anchors}
        used = [(features[step], weight) for step, weight in self._weights_of(now.step)]
        weights = [weight for _, weight in used]
        streams = zip(*(feature for feature, _ in used), strict=True)
        return tuple(combine(stream, weights) for stream in streams)

    def check(self, schedule: Schedule, family: str = "") -> None:
        super().check(schedule, family)
        if not schedule.num_cached:
            return
        fitted = self.conditions.get("family", family)
        if family and fitted != family:
            raise ValueError(
                f"the weights of this path were fitted for {fitted}, this model is {family}; "
                "choose a path that was fitted for it"
            )
        if self.covered(schedule) != schedule:
            raise ValueError(
                f"the weights were fitted for the schedule {self.schedule or 'of a search'}, this "
                f"run has {schedule}; take that schedule, or another policy"
            )

    def __str__(self) -> str:
        return "fitted"

    def _weights_of(self, step: int) -> Weights:
        return self._of_step.get(step, ())  # type: ignore[attr-defined] - set above
