"""Outcome of one run, and what it tells about all thresholds.

Decisions determine a run, so thresholds that lead to the same decisions give the same run: those
above the values of all cached steps, up to the values of the full steps that were not forced. A
run therefore answers for an interval, and the number of cached steps of an example is a step
function of the threshold, which runs uncover piece by piece.

This holds for values that depend on earlier decisions, not on the threshold itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from ..run.record import RunRecord
from ..schedule import Schedule


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
    """Outcome of a run whose steps had these values.

    Args:
        values: one for each step, as compared with the threshold. A full step whose value is NaN
            or infinite is full at any threshold.
        cached_steps: those that the gate decided to cache.
        forced_steps: those that were full whatever the value.
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


def outcome_in(record: RunRecord, threshold: float, forced: Schedule) -> Outcome:
    """Outcome of a run under a gate.

    Steps below the threshold that were full because something prevented caching count as forced.
    Raises ``ValueError`` for a run in which caching stopped.
    """
    if record.caching_stopped:
        raise ValueError(f"no threshold can be found in this workflow: {'; '.join(record.notes)}")
    values = [math.inf if value is None else value for value in record.gate_values]
    refused = (step for step in record.full_steps if values[step] < threshold)
    return outcome_of(values, record.cached_steps, {*forced.full_steps, *refused})


def decided(
    schedule_at: Callable[[float], Schedule], example: int, threshold: float
) -> Outcome:  # fmt: skip
    """Outcome of any example under a method that decides before the run."""
    here = schedule_at(threshold)
    low = _edge(lambda t: schedule_at(t) == here, 0.0, threshold)
    high = _edge(lambda t: schedule_at(t) == here, threshold, math.inf)
    return Outcome(
        here.num_cached, -math.inf if low is None else low, math.inf if high is None else high
    )


def _edge(is_here: Callable[[float], bool], low: float, high: float) -> float | None:
    """Last number before an answer changes; None if it never does."""
    first = is_here(low)
    if is_here(high) == first:
        return None
    # Positive numbers have the order of their bits, so 63 halvings suffice.
    below, above = (int(np.float64(end).view(np.int64)) for end in (low, high))
    while above - below > 1:
        middle = (below + above) // 2
        if is_here(_number(middle)) == first:
            below = middle
        else:
            above = middle
    return _number(below)


def _number(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))
