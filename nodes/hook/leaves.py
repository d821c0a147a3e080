"""Leaves of nested values and weights, as texts that are equal for equal values.

Only some values of each weight are read: all those of a large model would take minutes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from enum import Enum
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import torch
from comfy.controlnet import ControlBase
from comfy.model_patcher import ModelPatcher
from torch import Tensor

_PLAIN = (str, int, float, bool, type(None), torch.dtype, Enum)
_SAMPLED = 64  # about how many values are read of each weight
_DEPTH = 3  # of objects within objects, which may refer to each other


def weights(module: torch.nn.Module, prefix: str, patcher: Any) -> Iterable[str]:
    """Weights by name, as they were before ComfyUI loaded the model.

    Loading merges LoRAs into them, casts those kept in the file's dtype to the model's, and may
    compile a part of the model, which changes its name.
    """
    backup, hooked = getattr(patcher, "backup", {}), getattr(patcher, "hook_backup", {})
    for path, part in module.named_modules():
        for name, weight in part.named_parameters(recurse=False):
            key = prefix + ".".join(filter(None, (path, name))).replace("_orig_mod.", "")
            if key in backup:
                weight = backup[key].weight
            elif key in hooked:
                weight, _ = hooked[key]
            yield key
            yield from leaves(weight, getattr(part, f"{name}_comfy_model_dtype", None))


def leaves(
    tree: Any, dtype: torch.dtype | None = None, is_rounded: bool = False, depth: int = _DEPTH
) -> Iterable[str]:
    """Leaves of a tree as text; plain tensors are cast to ``dtype`` if it is given."""
    inner = partial(leaves, is_rounded=is_rounded, depth=depth)
    if hasattr(tree, "__tensor_flatten__"):  # quantized: stored values, not dequantized ones
        names, _ = tree.__tensor_flatten__()
        yield f"{tuple(tree.shape)}"
        yield from inner([getattr(tree, name) for name in names])
    elif isinstance(tree, Tensor):
        yield from _numbers(tree, dtype, is_rounded)
    elif isinstance(tree, dict):
        for key, value in sorted(tree.items(), key=lambda item: str(item[0])):
            yield str(key)
            yield from inner(value)
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            yield from inner(value)
    elif isinstance(tree, FunctionType):
        yield f"{tree.__module__}.{tree.__qualname__}"
        # Nodes that patch a model keep their inputs in closures.
        inputs = (cell.cell_contents for cell in tree.__closure__ or ())
        yield from inner([v for v in inputs if isinstance(v, (*_PLAIN, list, tuple, dict))])
    elif isinstance(tree, partial):
        yield from inner((tree.func, tree.args, tree.keywords))
    elif isinstance(tree, MethodType):
        yield from inner((tree.__func__, tree.__self__))
    elif isinstance(tree, ControlBase):
        yield type(tree).__name__
        hint = (tree.strength, tree.timestep_percent_range, tree.cond_hint_original)
        yield from inner((*hint, tree.previous_controlnet))
    elif isinstance(tree, ModelPatcher):
        yield type(tree.model).__name__
        yield from weights(tree.model, "", tree)
    elif hasattr(tree, "weights"):  # ComfyUI's adapters of LoRA, LoHa and the like
        yield type(tree).__name__
        yield from inner(tree.weights)
    elif isinstance(tree, _PLAIN):
        yield str(tree)
    else:
        yield type(tree).__name__
        if depth:
            yield from leaves(_made_with(tree), None, is_rounded, depth - 1)


def _numbers(tensor: Tensor, dtype: torch.dtype | None, is_rounded: bool) -> Iterable[str]:
    """Shape, dtype and some values of a tensor."""
    # As a plain tensor: GGUF's class has operations of its own.
    plain = tensor.detach().as_subclass(torch.Tensor)
    if is_rounded and plain.ndim > 1:
        rows = plain.flatten(0, -2)
        plain = rows[rows.any(dim=-1)]  # without the zeros after a short prompt
    stride, width = max(1, plain.numel() // _SAMPLED), plain.shape[-1] if plain.ndim else 1
    # Shifted by a golden section of the width, as otherwise all could be of one column.
    if stride >= width:
        stride -= round(0.382 * width)
    while math.gcd(stride, width) > 1:
        stride -= 1
    some = plain.flatten()[::stride]
    if dtype is not None and some.is_floating_point():
        some = some.to(dtype)
    # A weight that the file lacks has no memory before loading, and is zero afterwards.
    some = torch.zeros_like(some, device="cpu") if some.is_meta else some.cpu()
    yield f"{tuple(tensor.shape)} {some.dtype}"
    if is_rounded:
        # Times pi: numbers with few bits, such as 0.125, often lie halfway between two roundings.
        yield " ".join(f"{math.pi * value:.1e}" for value in some.tolist())
    else:
        yield some.contiguous().view(torch.uint8).numpy().tobytes().hex()


def _made_with(holder: Any) -> dict[str, Any]:
    """Constructor arguments that an object keeps as attributes of the same name.

    Later state, such as an image encoded at the size of the last run, says nothing about the next.
    If there are none, its public attributes that are plain values.
    """
    held = getattr(holder, "__dict__", {})
    if not held:
        return {}
    taken = inspect.signature(type(holder).__init__).parameters
    made = {name: value for name, value in held.items() if name.removeprefix("_") in taken}
    return made or plain_attributes(holder)


def plain_attributes(holder: Any) -> dict[str, Any]:
    """An object's public attributes that are plain values."""
    return {
        name: value
        for name, value in getattr(holder, "__dict__", {}).items()
        if not name.startswith("_") and isinstance(value, _PLAIN)
    }
