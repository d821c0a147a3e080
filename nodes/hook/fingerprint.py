"""Fingerprints of models, latents and conditionings, as short texts for a study's conditions."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import torch
from comfy.controlnet import ControlBase
from comfy.model_patcher import ModelPatcher
from torch import Tensor

from ...gph_core.policies.base import Policy, options_of
from . import samplers

_PLAIN = (str, int, float, bool, type(None), torch.dtype, Enum)
_SAMPLED = (
    64  # about as many values are read of each weight: all of a large model would take minutes
)
_DEPTH = 3  # of objects within objects, some of which hold each other


def of_model(patcher) -> str:
    """Fingerprint of a MODEL: class, configuration, some values of every weight, patches.

    It is equal whether the model is loaded or not, with its LoRAs or with those of another clone.
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


def of_architecture(patcher) -> str:
    """Fingerprint of a MODEL's class and configuration, shared by fine-tuned and quantized ones."""
    model = patcher.model
    config = {k: v for k, v in model.model_config.unet_config.items() if k != "dtype"}
    return _digest([type(model).__name__, json.dumps(config, sort_keys=True, default=str)])


def of_module(module: Any) -> str:
    """Fingerprint of a VAE or another object with weights; of its class if it has none."""
    inner = getattr(module, "first_stage_model", module)
    is_module = isinstance(inner, torch.nn.Module)
    weights = _weights(inner, "", getattr(module, "patcher", None)) if is_module else ()
    return _digest([type(inner).__name__, *weights])


def of_values(*values: Any) -> str:
    """Fingerprint of tensors, numbers, texts and functions, and lists and mappings of them."""
    return _digest(_leaves(values))


def of_conditionings(*values: Any) -> str:
    """Fingerprint to two digits, as text encoders round differently on other devices."""
    return _digest(_leaves(values, is_rounded=True))


def of_policy(policy: Policy) -> list[str]:
    """Fingerprint of a policy: its text and its options; weights are too many to be written."""
    return [str(policy), of_values(*options_of(policy).values())]


def of_sampling(
    guider, latent: Mapping[str, Any], sampler, sigmas: Tensor, replaced: Collection[str]
) -> dict[str, Any]:
    """Conditions that all runs of a guider on a LATENT share, by name.

    Args:
        replaced: conditionings of the guider that each run brings itself.
    """
    patcher, samples = guider.model_patcher, latent["samples"]
    parts = samples.unbind() if samples.is_nested else (samples,)
    kept = {k: v for k, v in guider.original_conds.items() if k not in replaced}
    return {
        "model": of_model(patcher),
        "precision": str(patcher.model_dtype()),
        "model options": of_model_options(patcher),
        "sampler": [
            samplers.name(sampler) or type(sampler).__name__,
            of_options(sampler),
        ],
        "noise levels": [round(level, 6) for level in sigmas.tolist()],
        "guidance": [*guidance(guider), of_conditionings(kept)],
        "latent": [
            [list(part.shape) for part in parts],
            of_values(*parts, latent.get("noise_mask")),
        ],
    }


def of_model_options(patcher) -> str:
    """Fingerprint of foreign model options, excluding our cache."""
    wrappers = {
        kind: {key: functions for key, functions in by_key.items() if key != KEY and functions}
        for kind, by_key in patcher.wrappers.items()
    }
    return of_values(patcher.model_options, {kind: some for kind, some in wrappers.items() if some})


def of_options(sampler) -> str:
    """Fingerprint of the options that a sampler was made with."""
    return of_values(getattr(sampler, "extra_options", {}))


def guidance(guider) -> tuple[str, dict[str, Any]]:
    """A guider's class and numbers; BasicGuider is one with CFG 1."""
    kind = type(guider).__name__
    numbers = {
        name: value
        for name, value in vars(guider).items()
        if isinstance(value, (bool, int, float, str))
    }
    return "CFGGuider" if kind == "Guider_Basic" else kind, numbers


def _weights(module: torch.nn.Module, prefix: str, patcher: Any) -> Iterable[str]:
    """Weights by name, as they were before ComfyUI loaded the model.

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


def _leaves(
    tree: Any, dtype: torch.dtype | None = None, is_rounded: bool = False, depth: int = _DEPTH
) -> Iterable[str]:
    """Leaves of a tree as text; numbers of plain tensors in a dtype, if one is given."""
    inner = partial(_leaves, is_rounded=is_rounded, depth=depth)
    if hasattr(tree, "__tensor_flatten__"):  # quantized: what it stores, not what that stands for
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
        # Nodes that patch a model put their inputs there.
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
        yield from _weights(tree.model, "", tree)
    elif hasattr(tree, "weights"):  # ComfyUI's adapters of LoRA, LoHa and the like
        yield type(tree).__name__
        yield from inner(tree.weights)
    elif isinstance(tree, _PLAIN):
        yield str(tree)
    else:
        yield type(tree).__name__
        if depth:
            yield from _leaves(_made_with(tree), None, is_rounded, depth - 1)


def _numbers(tensor: Tensor, dtype: torch.dtype | None, is_rounded: bool) -> Iterable[str]:
    """Shape, dtype and some values of a tensor."""
    # As plain bytes: those of GGUF are of a class with operations of its own.
    plain = tensor.detach().as_subclass(torch.Tensor)
    if is_rounded and plain.ndim > 1:
        rows = plain.flatten(0, -2)
        plain = rows[rows.any(dim=-1)]  # without the zeros behind a short prompt
    stride, width = max(1, plain.numel() // _SAMPLED), plain.shape[-1] if plain.ndim else 1
    # From one row to the next by a golden section of the width: else all may be of one column.
    if stride >= width:
        stride -= round(0.382 * width)
    while math.gcd(stride, width) > 1:
        stride -= 1
    some = plain.flatten()[::stride]
    if dtype is not None and some.is_floating_point():
        some = some.to(dtype)
    # What the file lacks has no memory before it is loaded, and is zero then.
    some = torch.zeros_like(some, device="cpu") if some.is_meta else some.cpu()
    yield f"{tuple(tensor.shape)} {some.dtype}"
    if is_rounded:
        # Times pi, since numbers of few bits, such as 0.125, often lie between two roundings.
        yield " ".join(f"{math.pi * value:.1e}" for value in some.tolist())
    else:
        yield some.contiguous().view(torch.uint8).numpy().tobytes().hex()


def _made_with(holder: Any) -> dict[str, Any]:
    """Constructor arguments that an object keeps as attributes of the same name.

    Later state, such as an image encoded at the size of the last run, says nothing of the next run.
    If no attribute has such a name: its public attributes that are plain values.
    of the next one. If none has such a name: its public attributes that are plain values.
    """
    held = getattr(holder, "__dict__", {})
    if not held:
        return {}
    taken = inspect.signature(type(holder).__init__).parameters
    made = {name: value for name, value in held.items() if name.removeprefix("_") in taken}
    return made or _plain(holder)


def _plain(holder: Any) -> dict[str, Any]:
    """An object's public attributes that are plain values."""
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


KEY = "golden_path"
