"""Differences between two sets of conditions, in words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_NAMES = {"sigmas": "noise levels", "model options": "model patches"}  # of fields, for people
_FINGERPRINT = re.compile("[0-9a-f]{16}")  # means nothing to people
_LONGEST = 120


def plain(data: Any) -> Any:
    """Data as JSON gives them back: tuples become lists, keys become text."""
    return json.loads(json.dumps(data))


def first_difference(
    stored: Mapping[str, Any], wanted: Mapping[str, Any], tolerances: Mapping[str, float] = {}
) -> tuple[str, str, str] | None:
    """The first field that differs, with both values as short texts; None if all are equal.

    They fit into "made with the (field) (stored), this one has (wanted)".

    Args:
        stored, wanted: plain data; a missing field counts as None.
        tolerances: for fields that are lists of numbers, how far apart they may be, as a part of
            the largest stored one.
    """
    for field in [*wanted, *stored]:
        one, other = stored.get(field), wanted.get(field)
        if field in tolerances:
            other = _without_rounding(other, one, tolerances[field])
        if one != other:
            return _NAMES.get(field, field), *_pair(one, other)
    return None


def in_words(conditions: Mapping[str, Any]) -> str:
    """Conditions on a line, without noise levels and fingerprints."""
    texts = {_NAMES.get(field, field): _text(value) for field, value in conditions.items()}
    return ", ".join(f"{name} {text}" for name, text in texts.items() if text)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return in_words(value)
    if isinstance(value, list) and not _is_shape(value):
        return "" if _is_of_numbers(value) else " ".join(filter(None, map(_text, value)))
    return "" if value is None or _is_fingerprint(value) else _short(value)


def _without_rounding(numbers: Any, others: Any, tolerance: float) -> Any:
    """A list of numbers, with those of the other list where they differ by no more than allowed."""
    lists = _is_of_numbers(numbers) and _is_of_numbers(others)
    if not lists or len(numbers) != len(others):
        return numbers
    nearest = tolerance * max(others)
    return [b if abs(a - b) <= nearest else a for a, b in zip(numbers, others, strict=True)]


def _pair(one: Any, other: Any) -> tuple[str, str]:
    """Two values as short texts; of lists and mappings the first items that differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        key = next(key for key in {**other, **one} if one.get(key) != other.get(key))
        former, present = _pair(one.get(key), other.get(key))
        return f"{key} {former}", f"{key} {present}"
    if isinstance(one, list) and isinstance(other, list) and not _is_shape(one):
        if len(one) == len(other):
            return _pair(*next((a, b) for a, b in zip(one, other, strict=True) if a != b))
        if not _is_of_numbers(one):
            return f"numbering {len(one)}", str(len(other))
    return _short(one, "of that time", "of"), _short(other, "another", "those of")


def _short(value: Any, otherwise: str = "", of: str = "") -> str:
    """A value in words.

    Args:
        otherwise: stands for values that mean nothing to people.
        of: stands before a number of steps.
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if _is_shape(value):
        return "×".join(map(str, value))
    if _is_of_numbers(value):  # noise levels, one more than there are steps
        return f"{of} {len(value) - 1} steps"
    if isinstance(value, str) and not _is_fingerprint(value):
        text = value.removeprefix("torch.")  # of a dtype
        text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
        return f'"{text}"' if " " in text else text
    return otherwise if isinstance(value, (dict, list, str)) else json.dumps(value)


def _is_fingerprint(value: Any) -> bool:
    return isinstance(value, str) and bool(_FINGERPRINT.fullmatch(value))


def _is_shape(value: Any) -> bool:
    return bool(value) and isinstance(value, list) and all(type(item) is int for item in value)


def _is_of_numbers(value: Any) -> bool:
    numbers = isinstance(value, list) and all(type(item) in (int, float) for item in value)
    return bool(value) and numbers
