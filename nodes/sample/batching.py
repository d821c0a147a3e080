"""Several prompts as one conditioning, so that their images are sampled at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def merged(conditionings: Sequence[list]) -> list | None:
    """One CONDITIONING for a batch of as many items; None if they cannot share one.

    Items can share one if all have equal entries whose tensors differ only in their values.
    Everything else must be equal: areas, strengths, controls.
    """
    if len(conditionings) == 1:
        return conditionings[0]  # whatever it holds
    try:
        return _joined(list(conditionings))
    except _Unequal:
        return None


class _Unequal(Exception):
    pass


def _joined(values: list[Any]) -> Any:
    """Batch of tensors of one item each; mappings and sequences are joined part by part."""
    first = values[0]
    if any(type(value) is not type(first) for value in values):
        raise _Unequal
    if isinstance(first, Tensor):
        if any(value.shape != first.shape or value.shape[:1] != (1,) for value in values):
            raise _Unequal
        return torch.cat(values)
    if isinstance(first, dict):
        if any(value.keys() != first.keys() for value in values):
            raise _Unequal
        return {key: _joined([value[key] for value in values]) for key in first}
    if isinstance(first, (list, tuple)):
        if any(len(value) != len(first) for value in values):
            raise _Unequal
        return type(first)(_joined(list(parts)) for parts in zip(*values, strict=True))
    if any(value is not first and value != first for value in values):
        raise _Unequal
    return first
