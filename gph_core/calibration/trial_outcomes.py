"""Outcomes at a threshold: of a run under a gate, and of a method that decides before the run."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..run.record import RunRecord
from ..schedule import Schedule
from .outcome import Outcome, outcome_of


def outcome_in(record: RunRecord, threshold: float, forced: Schedule) -> Outcome:
    """Outcome of a run under a gate.

    Steps below the threshold that were full nevertheless, because something prevented caching,
    count as forced. Raises ``ValueError`` for a run in which caching stopped.
    """
    if record.caching_stopped:
        raise ValueError(f"no threshold can be found in this workflow: {'; '.join(record.notes)}")
    values = [math.inf if value is None else value for value in record.gate_values]
    refused = (step for step in record.full_steps if values[step] < threshold)
    return outcome_of(values, record.cached_steps, {*forced.full_steps, *refused})


def decided(
    schedule_at: Callable[[float], Schedule], example: int, threshold: float
) -> Outcome:  # fmt: skip
    """Number of steps that a threshold caches, and the interval with the same schedule."""
    here = schedule_at(threshold)
    low = _edge(lambda t: schedule_at(t) == here, 0.0, threshold)
    high = _edge(lambda t: schedule_at(t) == here, threshold, math.inf)
    return Outcome(
        here.num_cached, -math.inf if low is None else low, math.inf if high is None else high
    )


def _edge(is_here: Callable[[float], bool], low: float, high: float) -> float | None:
    """Last number before the one at which an answer changes; None if it never does."""
    first = is_here(low)
    if is_here(high) == first:
        return None
    # Positive numbers are in the order of their bits, so halving takes 63 turns at most.
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
