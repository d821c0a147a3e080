"""Signals that adaptive rules read inside a transformer before its blocks have run.

The *modulated input* is what the first block's attention receives of the image tokens: normalised,
then scaled and shifted depending on the timestep. It costs next to nothing and shows how much a
step changes. Each function here takes a first block and its arguments, so it has the block's own
signature, and uses the block's own modules, which know how their weights are stored. The row of a
family names its function.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from .family import Family

Arguments = Mapping[str, Any]
WAN_TIMESTEPS = 1000.0  # Wan's timestep at noise level 1


@dataclass(frozen=True, slots=True)
class SignalSource:
    """How to read the image tokens around the first block of one family."""

    attended: Callable[..., Tensor]  # of the block and its arguments; one of the functions below
    handed_on: tuple[str | int, ...]  # the arguments that the block changes and returns, in order
    # Conditions of a model call, latents or lists of them, whose tokens come before or after.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    of_time: Callable[[nn.Module, Tensor], Tensor] | None = None  # see ``wan_time``
    patch: int | None = None  # of the latent that is one token; None: the transformer says so

    def modulated(self, block: nn.Module, args: Sequence[Any], kwargs: Arguments) -> Tensor:
        """``[B, T, C]`` that the first block's attention receives, in the dtype of the tokens.

        Call it before the block, which may add to its arguments in place.
        """
        return self.attended(block, *args, **kwargs)

    def passed_through(self, args: Sequence[Any], kwargs: Arguments) -> Tensor | tuple[Tensor, ...]:
        """Result of the first block if it changed nothing: its arguments, not copied."""
        first, *others = (
            args[key] if isinstance(key, int) else kwargs[key] for key in self.handed_on
        )
        return (first, *others) if others else first


def token_grid(
    transformer: nn.Module, latent_shape: Sequence[int], source: SignalSource | None = None
) -> tuple[int, ...]:
    """``(H, W)`` or ``(F, H, W)`` of the tokens of a latent, which is padded to whole patches.

    Args:
        transformer: has its patch size, if that is not one.
        latent_shape: ``[B, C, H, W]`` or ``[B, C, F, H, W]``.
        source: that of the family, which may have another patch size.
    """
    sizes = latent_shape[2:]
    patch = source.patch if source and source.patch else getattr(transformer, "patch_size", 1)
    of_images = isinstance(patch, int)
    patches = (1, patch, patch) if isinstance(patch, int) else tuple(patch)
    patches = ((1,) * len(sizes) + patches)[-len(sizes) :]
    grid = tuple(math.ceil(size / p) for size, p in zip(sizes, patches, strict=True))
    # Image models with an axis for layers have one layer for a plain image.
    return grid[1:] if of_images and len(grid) == 3 and grid[0] == 1 else grid


def main_tokens(
    tokens: Tensor,
    grid: Sequence[int],
    family: Family,
    transformer: nn.Module,
    conditions: Arguments,
) -> Tensor | None:
    """Tokens of the latent itself, without reference tokens; None if their number is unexplained.

    Args:
        tokens: ``[B, T, C]`` around the first block.
        grid: that of the latent, see ``token_grid``.
        conditions: the keyword arguments of the model call.
    """
    count, present = math.prod(grid), tokens.shape[1]
    if family.signal is None:
        return None
    if present == count:  # no references, or another extension keeps them elsewhere
        return tokens

    def counted(names: Sequence[str]) -> int:
        values = [conditions[name] for name in names if conditions.get(name) is not None]
        latents = [part for v in values for part in (v if isinstance(v, list) else [v])]
        grids = (token_grid(transformer, latent.shape, family.signal) for latent in latents)
        return sum(map(math.prod, grids))

    before, after = counted(family.signal.before), counted(family.signal.after)
    return tokens[:, before : before + count] if present == before + count + after else None


def double_stream(
    block: Any, *, img: Tensor, vec: Any, modulation_dims_img: Any = None, **_: Any
) -> Tensor:
    """FLUX, HunyuanVideo and Chroma; ``vec`` is the modulation itself if all blocks share it."""
    (first, _second), _text = vec if isinstance(vec, tuple) else (block.img_mod(vec), None)
    if fused := _called_by(block, "modulated_norm"):
        return fused(img, block.img_norm1, first.scale, first.shift, modulation_dims_img)
    tokens, scale = block.img_norm1(img), 1 + first.scale
    if modulation_dims_img is None:
        return torch.addcmul(first.shift, tokens, scale)
    # Some tokens, such as references, have another timestep. In place on the norm's result.
    for start, end, row in modulation_dims_img:
        one = slice(row, row + 1)
        tokens[:, start:end].mul_(scale[:, one]).add_(first.shift[:, one])
    return tokens


def qwen_image(
    block: Any, *, hidden_states: Tensor, temb: Tensor, timestep_zero_index: Any = None, **_: Any
) -> Tensor:
    """Qwen-Image and MageFlow; with an index, the tokens from it on have timestep zero."""
    first = block.img_mod(temb).chunk(2, dim=-1)[0]
    return block._modulate(block.img_norm1(hidden_states), first, timestep_zero_index)[0]


def qwen_image21(
    block: Any, x: Tensor, mod: Any, _pe: Any, _attend: Any, prefix: int, *_
) -> Tensor:
    """Qwen-Image 2.1, of the image alone; a scale without a shift is the same for all blocks."""
    scales, zero, image = mod[0], mod[-1], x[:, prefix:]
    if fused := _called_by(block, "_modulated_norm"):
        return fused(block.img_norm1, image, scales, 0, zero)
    return block.img_norm1(image) * (1 + scales[1])


def lens(block: Any, *, hidden_states: Tensor, temb: Tensor, **_: Any) -> Tensor:
    """Lens, as Qwen-Image without references."""
    first = block.img_mod(temb).chunk(2, dim=-1)[0]
    return block._modulate(block.img_norm1(hidden_states), first)[0]


def joyimage(block: Any, *, hidden_states: Tensor, temb: Tensor, **_: Any) -> Tensor:
    """JoyImage; its references come after the image and have the same timestep."""
    shift, scale = block.img_mod(temb)[:2]
    return block.img_norm1(hidden_states) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


def wan(block: Any, x: Tensor, *, e: Tensor, **_: Any) -> Tensor:
    """Wan and its variants; ``e`` holds six rows, or six rows for each frame."""
    rows = block.modulation.to(device=x.device, dtype=x.dtype) + e  # [B, (F,) 6, C]
    shift, scale = (r.unsqueeze(1) if r.ndim == 2 else r for r in rows.unbind(-2)[:2])
    if fused := _called_by(block, "modulate"):
        return fused(x, block.norm1, shift, scale)
    shift, scale = (_for_tokens(row, x.shape[1]) for row in (shift, scale))
    return torch.addcmul(shift, block.norm1(x), 1 + scale)


def sd3(block: Any, _context: Tensor, x: Tensor, *, c: Tensor, **_: Any) -> Tensor:
    """SD3; the image has its own half of the block."""
    image = block.x_block
    shift, scale = image.adaLN_modulation(c).unsqueeze(1).split(x.shape[-1], dim=-1)[:2]
    return torch.addcmul(shift, image.norm1(x), 1 + scale)


def ltx_video(block: Any, x: Tensor, *, timestep: Tensor, **_: Any) -> Tensor:
    """LTX-Video; ``timestep`` holds one row of modulation, or one for each token."""
    rows = timestep.unflatten(-1, (-1, x.shape[-1]))[:, :, :2]
    shift, scale = (block.scale_shift_table[:2].to(device=x.device, dtype=x.dtype) + rows).unbind(2)
    if fused := _called_by(block, "comfy.quant_ops.ck.rms_adaln"):
        return fused(x, scale, shift)
    return functional.rms_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift


def wan_time(transformer: Any, sigmas: Tensor) -> Tensor:
    """``[N, 6, C]`` float32: what each noise level contributes to the modulation of all blocks.

    It depends on the noise level alone, so TeaCache's schedule is known before the run. The model
    computes it in its own dtype, whose rounding is as large as the change between two steps. Here
    each layer's weights are copied for a moment: 0.6 GB for the model of 14 B parameters.

    Args:
        transformer: loaded, with its patches.
        sigmas: ``[N]`` noise levels from 1 to 0, on the device that the model computes on.
    """
    half = transformer.freq_dim // 2
    rates = 10_000.0 ** (-torch.arange(half, device=sigmas.device, dtype=torch.float64) / half)
    angles = WAN_TIMESTEPS * sigmas.double()[:, None] * rates
    waves = torch.cat((angles.cos(), angles.sin()), dim=1).float()
    embedded = _in_float32(transformer.time_embedding, waves)
    return _in_float32(transformer.time_projection, embedded).unflatten(1, (6, -1))


def _called_by(block: nn.Module, path: str) -> Callable[..., Tensor] | None:
    """The function that the block's own code calls under a path; None if it does not.

    It is looked up as the code does it: a class may inherit its code from another file, and a file
    may have a function that the block does not call.
    """
    kind = type(getattr(block, "_orig_mod", block))  # a compiled block stands for its own
    forward = inspect.unwrap(kind.forward)
    first, *inside = path.split(".")
    code = getattr(forward, "__code__", None)  # others may put any callable there
    if code is None or (inside or [first])[-1] not in code.co_names:
        return None
    found = forward.__globals__.get(first)
    for name in inside:
        found = getattr(found, name, None)
    return found


def _for_tokens(rows: Tensor, count: int) -> Tensor:
    """``[B, count, C]`` of ``[B, n, C]``: each row repeated for its share of the tokens."""
    each = math.ceil(count / rows.shape[1])
    return rows if rows.shape[1] == 1 else rows.repeat_interleave(each, dim=1)[:, :count]


def _in_float32(layers: nn.Module, x: Tensor) -> Tensor:
    """Result of layers in a row for float32 ``x``, in float32 wherever possible."""
    for layer in layers.children():
        weight = getattr(layer, "weight", None)
        if weight is None or getattr(layer, "comfy_cast_weights", False):
            x = layer(x)  # without weights, or it casts, moves and patches them for each input
        elif type(weight) is nn.Parameter:
            plain = {name: value.float() for name, value in layer.named_parameters()}
            x = torch.func.functional_call(layer, plain, (x,))
        else:  # quantised
            x = layer(x.to(weight.dtype)).float()
    return x
