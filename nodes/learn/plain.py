"""Nested plain data with tensors, such as a conditioning, as JSON and named tensors."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from torch import Tensor

_PLAIN = (str, bool, int, float, type(None))


def packed(tree: Any, tensors: dict[str, Tensor]) -> Any:
    """JSON data for a tree; its tensors are put into ``tensors``.

    Raises ``TypeError`` that names the kind of another object.
    """
    if isinstance(tree, Tensor):
        name = f"tensor {len(tensors)}"
        # Copied, because tensors that share memory cannot be saved.
        tensors[name] = tree.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(tree, uuid.UUID):  # only has to differ from others
        return {"id": None}
    if isinstance(tree, dict) and all(isinstance(key, str) for key in tree):
        return {"dict": {key: packed(value, tensors) for key, value in tree.items()}}
    if isinstance(tree, (list, tuple)):
        kind = "list" if isinstance(tree, list) else "tuple"
        return {kind: [packed(value, tensors) for value in tree]}
    if type(tree) in _PLAIN:
        return {"value": tree}
    raise TypeError(type(tree).__name__)


def unpacked(data: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Any:
    """The tree of ``packed``; an error of ``reading.ERRORS`` for other data."""
    ((kind, value),) = data.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "id":
        return uuid.uuid4()
    if kind == "dict":
        return {key: unpacked(item, tensors) for key, item in value.items()}
    if kind in ("list", "tuple"):
        items = [unpacked(item, tensors) for item in value]
        return items if kind == "list" else tuple(items)
    if kind == "value" and type(value) in _PLAIN:
        return value
    raise ValueError(f"it holds an unknown kind of data, {kind!r}")
