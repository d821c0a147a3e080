"""Error messages for wrong values of inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .types import ScheduleType

MAX_SHOWN = 100
EXAMPLES = {ScheduleType.io_type: "0-2,5,9/10"}  # for texts with a format


def value_fault(name: str, kind: str, options: Mapping[str, Any], value: Any) -> str | None:
    """Error message for a value in a prompt; None if it is valid.

    Args:
        name: the input's.
        kind: ComfyUI's types of the input, separated by commas.
        options: the rest of its schema.
        value: None stands for JSON's null.
    """
    kinds = kind.split(",")
    if "STRING" in kinds or "COMBO" in kinds:
        fits, needed = isinstance(value, str), _text(kinds)
    elif kind in ("FLOAT", "INT"):
        fits, needed = _is_number(kind, value, options), _number(kind, options)
    elif kind == "BOOLEAN":
        fits, needed = isinstance(value, bool), "true or false"
    else:  # a socket; null means unconnected
        fits = value is None and options.get("optional", False)
        needed = f"connected to an output of type {kind}"
    return None if fits else f"the {name} must be {needed}; found {shown(value)}"


def choice_fault(name: str, options: Mapping[str, Any], value: str) -> str | None:
    """Error message for a text that is not one of the choices; None if it is."""
    choices = options.get("options", ())
    if value in choices:
        return None
    return f"the {name} cannot be {quoted(value)}; choose one of {', '.join(choices)}"


def _text(kinds: list[str]) -> str:
    example = next((f" such as {EXAMPLES[kind]!r}" for kind in kinds if kind in EXAMPLES), "")
    return f"a text{example}"


def _number(kind: str, options: Mapping[str, Any]) -> str:
    what = "a whole number" if kind == "INT" else "a number"
    least, most = options.get("min"), options.get("max")
    limits = "" if least is None or most is None else f" from {least} to {most}"
    return f"{what}{limits}"


def _is_number(kind: str, value: Any, options: Mapping[str, Any]) -> bool:
    """Whether a value is a finite number within the limits; NaN passes ComfyUI's JSON parser."""
    if isinstance(value, bool) or not isinstance(value, int if kind == "INT" else int | float):
        return False
    is_within = options.get("min", value) <= value <= options.get("max", value)
    return is_within and -math.inf < value < math.inf


def shown(value: Any) -> str:
    """A JSON value as error messages show it, with its type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    kinds = {list: "the list", dict: "the object"}
    return f"{kinds.get(type(value), 'the number')} {short(repr(value))}"


def quoted(text: str) -> str:
    """A text in quotation marks, cut if it is long."""
    return repr(short(text))


def short(text: str, most: int = MAX_SHOWN) -> str:
    """A text, cut if it is long."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
