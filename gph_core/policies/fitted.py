"""Fitted velocity: every cached step has weights of its own for the newest full steps."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..schedule import Schedule
from .base import Anchor, Now, Prediction, Site, Streams, combine_channels
from .weights import MOST_CHANNELS, SECOND, Term, Weights

# The conditions without which weights mean nothing. They are fitted to the states of one sampler,
# and its options can make it another one, such as one with noise.
NEEDED = ("family", "model", "sigmas", "cfg", "sampler", "sampler options")


@dataclass(frozen=True)
class Fitted(Prediction):
    """``Σ_i w_i v_i`` over velocities v_i at some of the newest full steps, channel by channel.

    Args:
        schedule: text of the schedule that the weights were fitted for.
        weights: pairs of a cached step and its ``Weights``; none: still to be fitted. A pair of a
            full step and a number stands for a term: that weight of the guided velocity.
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
        weights = tuple((step, tuple(map(_term, terms))) for step, terms in self.weights)
        for step, terms in weights:
            _check_order(step, terms)
            if not all(math.isfinite(weight) for term in terms for weight in term.weights):
                raise ValueError(f"the weights of step {step} are not all numbers")
        every = [term for _, terms in weights for term in terms]
        counts = {len(term.weights) for term in every} - {1}
        if len(counts) > 1 or any(not 0 < count <= MOST_CHANNELS for count in counts):
            raise ValueError(
                f"the weights are for {' and '.join(map(str, sorted(counts)))} channels; all must "
                f"be for as many, {MOST_CHANNELS} at most, or for all channels alike"
            )
        longest = max((len({term.step for term in terms}) for _, terms in weights), default=1)
        second = frozenset(term.step for term in every if term.stream == SECOND)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "num_anchors", longest + self.spare)
        object.__setattr__(self, "_second", second)
        object.__setattr__(self, "_of_step", dict(weights))

    def part(self, first: int, num_steps: int) -> Fitted:
        """Weights for a run of some of the steps: those whose full steps it contains."""
        kept = tuple(
            (step - first, tuple(term._replace(step=term.step - first) for term in terms))
            for step, terms in self.weights
            if min(term.step for term in terms) >= first and step < first + num_steps
        )
        steps = sum(first <= step < first + num_steps for step, _ in self.weights)
        conditions = dict(self.conditions)
        if isinstance(conditions.get("sigmas"), (list, tuple)):
            conditions["sigmas"] = conditions["sigmas"][first : first + num_steps + 1]
        return replace(self, weights=kept, conditions=conditions, spare=steps - len(kept))

    @property
    def channels(self) -> int:
        """Number of channels that have weights of their own; 1 if all have the same."""
        counts = (len(term.weights) for _, terms in self.weights for term in terms)
        return max(counts, default=1)

    @property
    def missing(self) -> tuple[str, ...]:
        """Needed conditions that are not stated, so that the weights may not suit a run."""
        return tuple(name for name in NEEDED if name not in self.conditions)

    def covered(self, schedule: Schedule) -> Schedule:
        given, full = set(schedule.full_steps), []
        newest: deque[int] = deque(maxlen=self.num_anchors)
        for step in range(schedule.num_steps):
            needed = [term.step for term in self._terms_of(step)]
            if step in given or not needed or not all(anchor in newest for anchor in needed):
                full.append(step)
                newest.append(step)
        return Schedule(tuple(full), schedule.num_steps)

    def can_predict(self, step: int, anchors: Sequence[Anchor]) -> bool:
        features = {anchor.step: anchor.feature for anchor in anchors}
        terms = self._terms_of(step)
        return bool(terms) and all(_has(features.get(term.step, ()), term) for term in terms)

    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        features = {anchor.step: anchor.feature for anchor in anchors}
        terms = self._terms_of(now.step)
        used = [features[term.step][term.stream] for term in terms]
        return (combine_channels(used, [term.weights for term in terms]),)

    def uses_second(self, step: int) -> bool:
        return step in self._second  # type: ignore[attr-defined] - set above

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

    def _terms_of(self, step: int) -> Weights:
        return self._of_step.get(step, ())  # type: ignore[attr-defined] - set above


def _term(pair: Sequence[Any]) -> Term:
    step, weights, *stream = pair
    several = weights if isinstance(weights, Sequence) else (weights,)
    return Term(step, tuple(map(float, several)), *stream)


def _check_order(step: int, terms: Weights) -> None:
    """Raise ``ValueError`` unless the terms are of earlier steps, and those of a stream fall."""
    steps = [term.step for term in terms]
    places = [(-term.stream, term.step) for term in terms]
    falls = all(b < a for a, b in itertools.pairwise(places))
    if not (steps and falls and min(steps) >= 0 and max(steps) < step):
        raise ValueError(
            f"the weights of step {step} belong to the steps {steps}; they must be earlier steps, "
            "newest first"
        )


def _has(feature: Streams, term: Term) -> bool:
    """Whether a full step has left what a term needs, with as many channels."""
    if len(feature) <= term.stream:
        return False
    return len(term.weights) in (1, feature[term.stream].shape[1])
