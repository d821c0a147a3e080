"""Fingerprints of models, latents and conditionings, as short texts for a study's conditions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from ...gph_core.policies.base import Policy, options_of
from . import samplers
from .leaves import leaves, plain_attributes, weights

KEY = "golden_path"  # of our wrappers among those of other extensions


def of_model(patcher) -> str:
    """Fingerprint of a MODEL: class, configuration, some values of every weight, patches.

    It does not depend on whether the model is loaded, or with which clone's LoRAs.
    """
    model = patcher.model
    parts = [
        type(model).__name__,
        json.dumps(model.model_config.unet_config, sort_keys=True, default=str),
        *weights(model.diffusion_model, "diffusion_model.", patcher),
    ]
    for key, patches in sorted(patcher.patches.items(), key=lambda item: str(item[0])):
        # Each holds a strength and, deep inside, the tensors of a LoRA or the like.
        parts += [str(key), *leaves(patches)]
    for key, patch in sorted(patcher.object_patches.items()):
        parts += [key, *leaves(patch), *leaves(plain_attributes(patch))]
    return _digest(parts)


def of_architecture(patcher) -> str:
    """Fingerprint of a MODEL's class and configuration, shared by fine-tuned and quantized ones."""
    model = patcher.model
    config = {k: v for k, v in model.model_config.unet_config.items() if k != "dtype"}
    return _digest([type(model).__name__, json.dumps(config, sort_keys=True, default=str)])


def of_module(module: Any) -> str:
    """Fingerprint of a VAE or another object with weights; without weights, of its class."""
    inner = getattr(module, "first_stage_model", module)
    is_module = isinstance(inner, torch.nn.Module)
    parts = weights(inner, "", getattr(module, "patcher", None)) if is_module else ()
    return _digest([type(inner).__name__, *parts])


def of_values(*values: Any) -> str:
    """Fingerprint of tensors, numbers, texts and functions, and lists and mappings of them."""
    return _digest(leaves(values))


def of_conditionings(*values: Any) -> str:
    """Fingerprint of values to two digits, as text encoders round differently between devices."""
    return _digest(leaves(values, is_rounded=True))


def of_policy(policy: Policy) -> list[str]:
    """Fingerprint of a policy: its text, and a digest of its options, as weights are long."""
    return [str(policy), of_values(*options_of(policy).values())]


def of_sampling(
    guider, latent: Mapping[str, Any], sampler, sigmas: Tensor, replaced: Collection[str]
) -> dict[str, Any]:
    """Conditions that all runs of a guider on a LATENT share, by name.

    Args:
        replaced: conditionings of the guider that each run replaces with its own.
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
    """Fingerprint of a MODEL's options, without our cache."""
    wrappers = {
        kind: {key: functions for key, functions in by_key.items() if key != KEY and functions}
        for kind, by_key in patcher.wrappers.items()
    }
    return of_values(patcher.model_options, {kind: some for kind, some in wrappers.items() if some})


def of_options(sampler) -> str:
    """Fingerprint of the options that a sampler was made with."""
    return of_values(getattr(sampler, "extra_options", {}))


def guidance(guider) -> tuple[str, dict[str, Any]]:
    """A guider's class and numbers; BasicGuider counts as a CFGGuider with CFG 1."""
    kind = type(guider).__name__
    numbers = {
        name: value
        for name, value in vars(guider).items()
        if isinstance(value, (bool, int, float, str))
    }
    return "CFGGuider" if kind == "Guider_Basic" else kind, numbers


def guidance_scale(guider) -> float:
    """Scale by which a guider weighs conditionings against each other; 1 without guidance."""
    scales = (float(getattr(guider, name, 1.0)) for name in ("cfg", "cfg1", "cfg2"))
    return max(scales, key=lambda scale: abs(scale - 1))


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]
