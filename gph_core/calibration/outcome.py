"""Outcome of one run, and what it tells about all thresholds.

A run is determined by its decisions. Every threshold that leads to the same decisions gives the
very same run: those above the values of all cached steps, up to the values of the full steps that
were not forced. So a run answers for an interval, and the number of cached steps of an example is
a step function of the threshold that runs uncover piece by piece.

This needs values that depend on the decisions before, not on the threshold itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple


class Outcome(NamedTuple):
    """Number of steps that a run cached, and the thresholds that give the same run."""

    num_cached: int
    low: float  # exclusive; minus infinity if nothing was cached
    high: float  # inclusive

    def answers(self, threshold: float) -> bool:
        """Whether a run at this threshold is the same."""
        return self.low < threshold <= self.high


def outcome_of(
    values: Sequence[float], cached_steps: Collection[int], forced_steps: Collection[int]
) -> Outcome:
    """The outcome of a run whose steps had these values.

    Args:
        values: one a step, as compared with the threshold. A full step whose value is NaN or
            infinite is full at any threshold.
        cached_steps: that the gate decided to cache.
        forced_steps: that were full whatever the value.
    """
    low = max((values[step] for step in cached_steps), default=-math.inf)
    high = min(
        (
            value
            for step, value in enumerate(values)
            if step not in cached_steps and step not in forced_steps and not math.isnan(value)
        ),
        default=math.inf,
    )
    if not low < high:
        raise ValueError(
            f"a cached step has the value {low:g} and a full one {high:g}, which no threshold "
            "explains; name all steps that were forced"
        )
    return Outcome(len(cached_steps), low, high)
