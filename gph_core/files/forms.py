"""The forms of data in files: errors name what was found and what is needed.

A file may hold anything. Data of the right form cannot fail later, where nobody knows which line
of the file they came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import torch
from torch import Tensor

T = TypeVar("T")
NUMBER = (int, float)
_LIST = (list, tuple)
_NAMES = {
    str: "a text", int: "a whole number", bool: "true or false", NUMBER: "a number",
    dict: "an object", Mapping: "an object", list: "a list", _LIST: "a list",
}  # fmt: skip
_WIDEST = 2**64  # of whole numbers; a larger one cannot become a fraction


def check(value: Any, form: Any, where: str) -> None:
    """Raise ``ValueError`` that names the first part of JSON data that has another form.

    Args:
        form: a type, or several, None among them for a null; ``[form]`` of all items of a list;
            ``{name: form}`` of the fields that an object must have, ``{...: form}`` of all of its
            fields.
        where: what the data are called.
    """
    if isinstance(form, list):
        _check_type(value, list, where)
        for number, item in enumerate(value):
            check(item, form[0], f"{where}, item {number}")
    elif isinstance(form, dict):
        _check_type(value, dict, where)
        for name in value if ... in form else form:
            if name not in value:
                raise ValueError(f"{where} has no {name!r}")
            check(value[name], form[... if ... in form else name], f"{where}, {name!r}")
    else:
        _check_type(value, form, where)


def read(kind: type[T], data: Any) -> T:
    """An object of a dataclass or named tuple from its fields, as JSON gives them back.

    Fields are text, numbers, tuples of one type, mappings from text, any of these or None, and
    classes with ``from_dict``. A number may be infinite, as the PSNR of equal images is; it may be
    NaN only where it may be None.

    ``ValueError`` names a field that is missing, unknown, or of another type.
    """
    _check_type(data, Mapping, "an item")
    types = _types(kind)
    if unknown := data.keys() - types.keys():
        raise ValueError(f"the field {min(unknown)!r} is not known")
    values = {name: _value(types[name], v, f"the field {name!r}") for name, v in data.items()}
    try:
        return kind(**values)
    except TypeError as error:
        missing = [name for name in types if name not in data]
        raise ValueError(f"one of the fields {', '.join(missing)} is missing") from error


def _value(kind: Any, value: Any, where: str) -> Any:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    is_nan = value != value  # whatever it is
    if origin in (Union, UnionType):
        if value is None or (float in inner and is_nan):
            return value
        (present,) = (part for part in inner if part is not NoneType)
        return _value(present, value, where)
    if kind is Any:
        return value
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value)
    needed = {tuple: _LIST, float: NUMBER}.get(origin, origin)
    _check_type(value, needed, where)
    if is_nan:
        raise _refused(value, _NAMES[needed], where)
    if origin is tuple:
        return tuple(_value(inner[0], item, where) for item in value)
    if origin is Mapping:
        return {key: _value(inner[1], item, where) for key, item in value.items()}
    if isinstance(value, int) and abs(value) > _WIDEST:
        raise ValueError(f"{where} holds a number of {len(str(value))} digits")
    return float(value) if origin is float else value


def _check_type(value: Any, needed: Any, where: str) -> None:
    types = needed if isinstance(needed, tuple) else (needed,)
    if value is None and None in types:
        return
    present = tuple(kind for kind in types if kind is not None)
    if not isinstance(value, present) or (isinstance(value, bool) and bool not in present):
        words = _NAMES.get(needed) or " or ".join(_NAMES.get(kind, "null") for kind in types)
        raise _refused(value, words, where)


def _refused(value: Any, needed: str, where: str) -> ValueError:
    text = repr(value)
    shown = text if len(text) <= 50 else f"{text[:47]}..."
    return ValueError(f"{where} must be {needed}; found {shown}")


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


class Form(NamedTuple):
    """Form of named tensors that are all of one shape.

    Args:
        sizes: of the dimensions; None: any from 1 on, the same in all of these tensors.
        are_costs: they are 0 or more and may be infinite; other numbers are finite.
    """

    names: tuple[str, ...]
    sizes: tuple[int | None, ...]
    are_costs: bool = False

    def read(self, values: Mapping[str, Any]) -> dict[str, Tensor]:
        """The tensors in float64; ``ValueError`` names the first that is something else."""
        tensors, sizes = {}, self.sizes
        for name in self.names:
            tensors[name] = tensor = _floating(name, values.get(name))
            pairs = zip(tensor.shape, sizes, strict=False)
            if len(tensor.shape) != len(sizes) or not all(
                size == wanted if wanted is not None else size for size, wanted in pairs
            ):
                needed = "×".join("any" if size is None else str(size) for size in sizes)
                raise ValueError(f"{name!r} has the shape {_shape(tensor)}; it needs {needed}")
            sizes = tuple(tensor.shape)
            if not (tensor >= 0 if self.are_costs else tensor.isfinite()).all():
                limit = "from 0 on" if self.are_costs else "finite"
                raise ValueError(f"{name!r} holds values that are not {limit}")
        return tensors


def num_steps(values: Mapping[str, Any], name: str) -> int:
    """Steps N of a table ``[..., N, N]`` or ``[..., N, N + 1]``; ``ValueError`` if it has none."""
    tensor = _floating(name, values.get(name))
    if tensor.dim() < 2 or not tensor.shape[-2]:
        raise ValueError(f"{name!r} has the shape {_shape(tensor)}; it needs a row for each step")
    return tensor.shape[-2]


def _floating(name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor) or not value.is_floating_point():
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name!r} must be a tensor of floating-point numbers; found {kind}")
    return value.to(torch.float64)


def _shape(tensor: Tensor) -> str:
    return "×".join(map(str, tensor.shape)) or "of one number"
