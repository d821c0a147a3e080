"""JSON as the standard defines it: without NaN, infinity and endless nesting."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 64  # levels of nesting; what this pack writes has up to ten
MAX_DIGITS = 308  # of a whole number, so that it fits into a float
_MARK = "\ufeff"


def loads(text: str | bytes, is_finite: bool = True) -> Any:
    """Read JSON text; ``ValueError`` says what is wrong with other text.

    Args:
        text: bytes are UTF-8, with or without the mark that editors on Windows put in front.
        is_finite: False for measurements, where NaN and infinity have a meaning.
    """
    strict: Any = {"parse_constant": _refused, "parse_float": _finite} if is_finite else {}
    try:
        value = json.loads(
            (_decoded(text) if isinstance(text, bytes) else text).removeprefix(_MARK),
            parse_int=_whole, **strict,
        )  # fmt: skip
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    _check_depth(value)
    return value


def dumps(value: Any, indent: int | None = None) -> str:
    """Write JSON text; ``ValueError`` for a number that is not finite, see ``finite``."""
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except ValueError as error:
        raise ValueError("it holds a number that is not finite, which JSON cannot have") from error


def finite(value: Any) -> Any:
    """Plain data, with None in place of numbers that are not finite."""
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_TOO_DEEP = f"it is nested in more than {MAX_DEPTH} levels"


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 text, from byte {error.start} on") from error


def _refused(name: str) -> float:
    raise ValueError(f"it holds {name}, which is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"it holds {text[:30]}, which is too large a number")
    return number


def _whole(text: str) -> int:
    if len(text.removeprefix("-")) > MAX_DIGITS:
        raise ValueError(f"it holds {text[:30]}..., which has more than {MAX_DIGITS} digits")
    return int(text)


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
