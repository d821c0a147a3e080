"""Error messages for values of a wrong form that arrive over a link.

ComfyUI compares the types of links, not their values: some packs output images with one channel,
without a batch or in 8 bit as IMAGE, and a link of any type can carry anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ...gph_core.quality.comparison import form_fault


def wire_fault(name: str, kind: str, value: Any) -> str | None:
    """Error message for a value; None if it is valid, or if nothing is known about its type.

    Args:
        name: the input's.
        kind: ComfyUI's type of the input.
        value: what arrived.
    """
    check = _CHECKS.get(kind)
    return None if check is None else check(name, value)


def _sigmas(name: str, value: Any) -> str | None:
    if isinstance(value, Tensor) and value.ndim == 1 and value.isfinite().all():
        return None
    found = f"a tensor of the form {list(value.shape)}" if isinstance(value, Tensor) else None
    if found and value.ndim == 1:
        found = "some that are not finite"
    return (
        f"the {name} must be a row of finite noise levels, from a scheduler node; found "
        f"{found or type(value).__name__}"
    )


def _latent(name: str, value: Any) -> str | None:
    samples = value.get("samples") if isinstance(value, Mapping) else None
    if samples is None:
        return (
            f"the {name} is no latent; connect an empty latent, or an image behind VAE Encode; "
            f"found {type(value).__name__}"
        )
    if not samples.shape[0]:
        return f"the {name} holds no image; connect a latent with a batch size of 1 or more"
    if not is_finite(samples):
        return f"the {name} has values that are no finite numbers; mend the node that made it"
    return None


def is_finite(latents: Any) -> bool:
    """Whether all values of latents are finite; they may have parts, such as video and sound."""
    parts = latents.unbind() if latents.is_nested else (latents,)
    return all(bool(part.isfinite().all()) for part in parts)


_CHECKS = {"IMAGE": form_fault, "LATENT": _latent, "SIGMAS": _sigmas}
