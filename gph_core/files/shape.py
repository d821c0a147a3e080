"""The shape that data of JSON need, for errors in words instead of Python's own."""

from __future__ import annotations

from typing import Any

NUMBER = (int, float)
_NAMES = {
    str: "a text", int: "a whole number", bool: "true or false", NUMBER: "a number",
    dict: "an object", list: "a list",
}  # fmt: skip


def check(value: Any, shape: Any, where: str) -> None:
    """Raise ``ValueError`` that names the first part of some data that has another shape.

    Args:
        shape: a type, or several, None among them for a null; ``[shape]`` of all items of a list;
            ``{name: shape}`` of the fields that an object has to have, ``{...: shape}`` of all of
            its fields.
        where: what the data are called.
    """
    if isinstance(shape, list):
        _check_type(value, list, where)
        for number, item in enumerate(value):
            check(item, shape[0], f"{where}, item {number}")
    elif isinstance(shape, dict):
        _check_type(value, dict, where)
        for name in value if ... in shape else shape:
            if name not in value:
                raise ValueError(f"{where} has no {name!r}")
            check(value[name], shape[... if ... in shape else name], f"{where}, {name!r}")
    else:
        _check_type(value, shape, where)


def _check_type(value: Any, wanted: Any, where: str) -> None:
    types = wanted if isinstance(wanted, tuple) else (wanted,)
    if value is None and None in types:
        return
    known = tuple(kind for kind in types if kind is not None)
    if isinstance(value, known) and (bool in known or not isinstance(value, bool)):
        return
    needed = _NAMES.get(wanted) or " or ".join(_NAMES.get(kind, "null") for kind in types)
    found = repr(value)
    shown = found if len(found) <= 50 else f"{found[:47]}..."
    raise ValueError(f"{where} must be {needed}; found {shown}")
