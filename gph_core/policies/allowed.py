"""Values that the options of policies may have, in nodes and in files."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..schedule_text import MAX_STEPS
from .mean_velocity import MAX_SPAN

MAX_LINE = 200  # characters of a text


class Range(NamedTuple):
    """Smallest and largest value of an option."""

    low: float
    high: float


# By name; an option means the same in every policy.
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


def check_number(kind: str, name: str, value: Any) -> None:
    """Raise ``ValueError`` for a number out of its option's range."""
    allowed = RANGES.get(name)
    if allowed and type(value) in (int, float) and not allowed.low <= value <= allowed.high:
        raise ValueError(
            f"{name} of the policy {kind} is {value:.4g}; it can be {allowed.low:g} to "
            f"{allowed.high:g}"
        )


def conditions(values: dict[str, Any]) -> dict[str, Any]:
    """The conditions of a file; ``ValueError`` names one of another type."""
    for name, value in values.items():
        wanted, is_one = _WANTED.get(name, _ANYTHING)
        if not is_one(value):
            raise ValueError(f"the condition {name!r} of the weights must be {wanted}")
    return values


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_LINE and value.isprintable()


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


_LINE = f"a line of {MAX_LINE} characters at most", _is_line
_NUMBERS = "a list of numbers", _are_numbers
_ANYTHING = "anything", lambda value: True
# Forms of the conditions that a run is compared with; others may be anything.
_WANTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("family", "model", "weights", "precision", "model options"), _LINE),
    **dict.fromkeys(("sampler", "sampler options", "guider"), _LINE),
    **dict.fromkeys(("sigmas", "latent"), _NUMBERS),
    "cfg": ("a number or null", lambda value: value is None or _is_number(value)),
    "numbers of the guider": ("an object", lambda value: isinstance(value, dict)),
}
