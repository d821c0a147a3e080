"""Fields of a class from plain data, each of the type that the class says.

A file may hold anything. An item whose fields are what they are called cannot fail far from the
file, where nobody knows any more which line it came from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_WIDEST = 2**64  # of whole numbers; a larger one cannot become a fraction
_TYPES = {
    str: "a text", int: "a whole number", float: "a number", tuple: "a list", Mapping: "an object",
}  # fmt: skip


def read(kind: type[T], data: Any) -> T:
    """An object of a dataclass or named tuple from its fields, as JSON gives them back.

    Types are text, numbers, tuples of one type, mappings from text, whatever may be None, and
    classes with ``from_dict``. A number may be infinite, as the PSNR of equal images is; it may be
    NaN only where it may be None.

    ``ValueError`` names a field that is missing, unknown, or of another type.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"{_shown(data)} stands where an object is needed")
    types = _types(kind)
    if unknown := data.keys() - types.keys():
        raise ValueError(f"the field {min(unknown)!r} is not known")
    values = {name: _value(types[name], value, name) for name, value in data.items()}
    try:
        return kind(**values)
    except TypeError as error:
        missing = [name for name in types if name not in data]
        raise ValueError(f"one of the fields {', '.join(missing)} is missing") from error


def _value(kind: Any, value: Any, name: str) -> Any:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        if value is None or (float in inner and _is_nan(value)):
            return value
        (present,) = (part for part in inner if part is not NoneType)
        return _value(present, value, name)
    if origin is tuple and isinstance(value, (list, tuple)):
        return tuple(_value(inner[0], item, name) for item in value)
    if origin is Mapping and isinstance(value, Mapping):
        return {key: _value(inner[1], item, name) for key, item in value.items()}
    if origin is float and type(value) in (int, float) and not _is_nan(value):
        return float(_fitting(value, name))
    if origin is int and type(value) is int:
        return _fitting(value, name)
    if kind is Any or (origin is str and isinstance(value, str)):
        return value
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value)
    wanted = _TYPES.get(origin, "something else")
    raise ValueError(f"the field {name!r} holds {_shown(value)} where {wanted} is needed")


def _fitting(value: Any, name: str) -> Any:
    if isinstance(value, int) and abs(value) > _WIDEST:
        raise ValueError(f"the field {name!r} holds a number of {len(str(value))} digits")
    return value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
