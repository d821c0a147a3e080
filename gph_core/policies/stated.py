"""What the conditions of fitted weights may be, where a file states them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

MAX_LINE = 200  # characters of a text


def conditions(values: dict[str, Any]) -> dict[str, Any]:
    """Conditions of a file; ``ValueError`` names the one that is of another type."""
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
# What the conditions that a run is compared with can be; it does not look at others.
_WANTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("family", "model", "weights", "precision", "model options"), _LINE),
    **dict.fromkeys(("sampler", "sampler options", "guider"), _LINE),
    **dict.fromkeys(("sigmas", "latent"), _NUMBERS),
    "cfg": ("a number or null", lambda value: value is None or _is_number(value)),
    "numbers of the guider": ("an object", lambda value: isinstance(value, dict)),
}
