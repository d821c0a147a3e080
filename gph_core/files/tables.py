"""The form that tensors of a file need, for errors in words instead of a library's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor


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
        found, sizes = {}, self.sizes
        for name in self.names:
            found[name] = tensor = _floating(name, values.get(name))
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
        return found


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
