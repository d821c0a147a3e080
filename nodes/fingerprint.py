"""What tells models, latents and conditionings apart, as short texts for a study's conditions."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import torch
from comfy.controlnet import ControlBase
from torch import Tensor

_PLAIN = (str, int, float, bool, type(None), torch.dtype)
_SAMPLED = 64  # bytes' worth of values read of each weight: all of a large model would take minutes


def of_model(patcher) -> str:
    """Of a MODEL: class, configuration, some values of every weight, and what patches it.

    The same whether it is loaded or not, with its LoRAs or with those of another clone.
    """
    model = patcher.model
    parts = [
        type(model).__name__,
        json.dumps(model.model_config.unet_config, sort_keys=True, default=str),
        *_weights(model.diffusion_model, "diffusion_model.", patcher),
    ]
    for key, patches in sorted(patcher.patches.items(), key=lambda item: str(item[0])):
        # Each holds a strength and, deep inside, the tensors of a LoRA or the like.
        parts += [str(key), *_leaves(patches)]
    for key, patch in sorted(patcher.object_patches.items()):
        parts += [key, *_leaves(patch), *_leaves(_plain(patch))]
    return _digest(parts)


def of_module(module: Any) -> str:
    """Of a VAE or another object with weights; of one without any, its class."""
    inner = getattr(module, "first_stage_model", module)
    is_module = isinstance(inner, torch.nn.Module)
    weights = _weights(inner, "", getattr(module, "patcher", None)) if is_module else ()
    return _digest([type(inner).__name__, *weights])


def of_values(*values: Any) -> str:
    """Of tensors, numbers, texts and functions, and lists and mappings of them."""
    return _digest(_leaves(values))


def of_conditionings(*values: Any) -> str:
    """The same with two digits of each number: text encoders round otherwise on other devices."""
    return _digest(_leaves(values, is_rounded=True))


def _weights(module: torch.nn.Module, prefix: str, patcher: Any) -> Iterable[str]:
    """The weights as they were before ComfyUI loaded the model, by their names.

    Loading puts LoRAs into them, casts those that it keeps as the file has them to the model's
    dtype, and may compile a part of the model, whose name then shows it.
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
            yield from _leaves(weight, getattr(part, f"{name}_comfy_model_dtype", None))


def _leaves(tree: Any, dtype: torch.dtype | None = None, is_rounded: bool = False) -> Iterable[str]:
    """Everything in a tree as text; numbers of plain tensors in a dtype, if it is given."""
    if hasattr(tree, "__tensor_flatten__"):  # quantized: what it stores, not what that stands for
        names, _ = tree.__tensor_flatten__()
        yield f"{tuple(tree.shape)}"
        yield from _leaves([getattr(tree, name) for name in names], None, is_rounded)
    elif isinstance(tree, Tensor):
        # As plain bytes: those of GGUF are of a class with operations of its own.
        plain = tree.detach().as_subclass(torch.Tensor)
        some = plain.flatten()[:: max(1, plain.numel() // _SAMPLED)][:_SAMPLED]
        if dtype is not None and some.is_floating_point():
            some = some.to(dtype)
        # What the file lacks has no memory before it is loaded, and is zero then.
        some = torch.zeros_like(some, device="cpu") if some.is_meta else some.cpu()
        yield f"{tuple(tree.shape)} {some.dtype}"
        if is_rounded:
            # Times pi, since numbers of few bits, such as 0.125, often lie between two roundings.
            yield " ".join(f"{math.pi * value:.1e}" for value in some.tolist())
        else:
            yield some.contiguous().view(torch.uint8).numpy().tobytes().hex()
    elif isinstance(tree, dict):
        for key, value in sorted(tree.items(), key=lambda item: str(item[0])):
            yield str(key)
            yield from _leaves(value, None, is_rounded)
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            yield from _leaves(value, None, is_rounded)
    elif isinstance(tree, FunctionType):
        yield f"{tree.__module__}.{tree.__qualname__}"
        # Nodes that patch a model put their inputs there.
        inputs = (cell.cell_contents for cell in tree.__closure__ or ())
        yield from _leaves([v for v in inputs if isinstance(v, (*_PLAIN, list, tuple, dict))])
    elif isinstance(tree, partial):
        yield from _leaves((tree.func, tree.args, tree.keywords), None, is_rounded)
    elif isinstance(tree, MethodType):
        yield from _leaves((tree.__func__, type(tree.__self__).__name__, _plain(tree.__self__)))
    elif isinstance(tree, ControlBase):
        yield type(tree).__name__
        hint = (tree.strength, tree.timestep_percent_range, tree.cond_hint_original)
        yield from _leaves((*hint, tree.previous_controlnet), None, is_rounded)
    elif hasattr(tree, "weights"):  # ComfyUI's adapters of LoRA, LoHa and the like
        yield type(tree).__name__
        yield from _leaves(tree.weights)
    elif isinstance(tree, _PLAIN):
        yield str(tree)
    else:
        yield type(tree).__name__


def _plain(holder: Any) -> dict[str, Any]:
    """What an object was made with: its public attributes that are plain values."""
    return {
        name: value
        for name, value in getattr(holder, "__dict__", {}).items()
        if not name.startswith("_") and isinstance(value, _PLAIN)
    }


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]
