"""JSON text in and out, as the standard has it: no NaN, no infinity, no endless nesting."""

from __future__ import annotations

import json
import math
from typing import Any

MAX_DEPTH = 64  # levels of nesting; what this pack writes has up to ten


def loads(text: str | bytes) -> Any:
    """Read JSON text; ``ValueError`` says what is wrong with anything else.

    Args:
        text: as bytes it is UTF-8; editors on Windows may put a mark in front of it.
    """
    try:
        found = json.loads(
            text.decode("utf-8-sig") if isinstance(text, bytes) else text,
            parse_constant=_refused, parse_float=_finite,
        )  # fmt: skip
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    _check_depth(found)
    return found


def dumps(value: Any, indent: int | None = None) -> str:
    """Write JSON text; ``ValueError`` for a number that is not finite."""
    return json.dumps(value, indent=indent, allow_nan=False)


_TOO_DEEP = f"it is nested in more than {MAX_DEPTH} levels"


def _refused(name: str) -> float:
    raise ValueError(f"it holds {name}, which is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"it holds {text[:30]}, which is too large a number")
    return number


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        nested = [item for item in level if isinstance(item, (dict, list))]
        if not nested:
            return
        level = [
            inner
            for item in nested
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    raise ValueError(_TOO_DEEP)
