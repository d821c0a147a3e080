"""Ranges of the options of policies: what nodes offer, and what a file may state."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..schedule_text import MAX_STEPS
from .mean_velocity import MAX_SPAN


class Range(NamedTuple):
    """The least and the largest value of an option."""

    low: float
    high: float


# By the names of the options, which mean the same in every policy.
RANGES = {
    "order": Range(1, 2),
    "scale": Range(0.05, 1.0),
    "span": Range(1, MAX_SPAN),
    "max_amplification": Range(1.0, 100.0),
    "max_distance": Range(1, 200),
    "first_enhance": Range(0, 100),
    "max_gamma": Range(1.0, 2.0),
    "examples": Range(0, 1_000_000),
    "spare": Range(0, MAX_STEPS),
}


def check(kind: str, name: str, value: Any) -> None:
    """Raise ``ValueError`` for a number that is out of its option's range."""
    found = RANGES.get(name)
    if found and type(value) in (int, float) and not found.low <= value <= found.high:
        raise ValueError(
            f"{name} of the policy {kind} is {value:.4g}; it can be {found.low:g} to {found.high:g}"
        )
