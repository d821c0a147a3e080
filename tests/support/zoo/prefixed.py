"""Qwen-Image 2.1, or a transformer that is built like it where ComfyUI does not have it yet.

Prompt and references stand in front of the image in one sequence. They see nothing behind them and
are at timestep zero, so that their keys and values are the same at every step: a call that does not
know them sends them through each block first and keeps them, later ones compute the image alone.
"""

from __future__ import annotations

import importlib
import importlib.util

import comfy.conds
import comfy.latent_formats
import comfy.model_base
import comfy.supported_models
import comfy.supported_models_base
import torch
from torch import Tensor, nn
from torch.nn import functional

PLACE, NAME = "comfy.ldm.qwen_image21.model", "QwenImage21Transformer2DModel"


def _modulated_norm(norm, x, scale, count, _zero):
    """Both steps in one, which rounds in its own way; the first ``count`` tokens have their own."""
    wide = norm(x.double())
    parts = wide[:, :count] * (1 + scale[0].double()), wide[:, count:] * (1 + scale[1].double())
    return torch.cat(parts, dim=1).to(x.dtype)


def _gated(x, y, gate, count):
    """In place, as ComfyUI has it."""
    x[:, :count].addcmul_(y[:, :count], gate[0])
    x[:, count:].addcmul_(y[:, count:], gate[1])
    return x


class _Attention(nn.Module):
    def __init__(self, width, operations, **kwargs):
        super().__init__()
        self.qkv = operations.Linear(width, 3 * width, **kwargs)
        self.out = operations.Linear(width, width, **kwargs)

    def forward(self, x, attend):
        return self.out(attend(*self.qkv(x).chunk(3, dim=-1)))


class _Block(nn.Module):
    def __init__(self, width, operations, **kwargs):
        super().__init__()
        self.img_norm1 = operations.LayerNorm(width, elementwise_affine=False, **kwargs)
        self.attn = _Attention(width, operations, **kwargs)
        self.img_norm2 = operations.LayerNorm(width, elementwise_affine=False, **kwargs)
        self.img_mlp = operations.Linear(width, width, **kwargs)

    def forward(self, x, mod, _pe, attend, count, transformer_options=None):
        (scale1, gate1, scale2, gate2), zero = mod[:4], mod[4]
        x = _gated(x, self.attn(_modulated_norm(self.img_norm1, x, scale1, count, zero), attend),
                   gate1, count)  # fmt: skip
        wide = self.img_mlp(_modulated_norm(self.img_norm2, x, scale2, count, zero))
        return _gated(x, functional.gelu(wide), gate2, count)


class _Last(nn.Module):
    def __init__(self, width, operations, **kwargs):
        super().__init__()
        self.linear = operations.Linear(width, width, **kwargs)
        self.norm = operations.LayerNorm(width, elementwise_affine=False, **kwargs)

    def forward(self, x, time):
        return self.norm(x) * (1 + self.linear(time)[:, None])


class _Keys:
    """Keys and values of prompts, by prompt and block."""

    def __init__(self):
        self.slots: list[tuple[Tensor, dict[int, Tensor]]] = []
        self.slot: dict[int, Tensor] | None = None

    def select(self, key, create=True):
        same = [s for k, s in self.slots if k.shape == key.shape and torch.equal(k, key)]
        self.slot = same[0] if same else None
        if self.slot is None and create:
            self.slot = {}
            self.slots.append((key.clone(), self.slot))
        return self.slot is not None


class Prefixed(nn.Module):
    """The transformer; it keeps keys where ``free_bytes`` has room for those of all blocks."""

    free_bytes = 1 << 30

    def __init__(self, in_channels, out_channels, num_layers, attention_head_dim,
                 num_attention_heads, context_in_dim, dtype, device, operations, **_):  # fmt: skip
        super().__init__()
        width, kwargs = attention_head_dim * num_attention_heads, {"dtype": dtype, "device": device}
        self.dtype = dtype
        self.txt_in = operations.Linear(context_in_dim, width, **kwargs)
        self.img_in = operations.Linear(in_channels, width, **kwargs)
        self.time_in = operations.Linear(2, width, **kwargs)
        self.modulation = operations.Linear(width, 4 * width, **kwargs)
        self.transformer_blocks = nn.ModuleList(
            _Block(width, operations, **kwargs) for _ in range(num_layers)
        )
        self.norm_out = _Last(width, operations, **kwargs)
        self.proj_out = operations.Linear(width, out_channels, **kwargs)
        self.prefix_cache: _Keys | None = None
        self.prefix_cache_enabled = False

    def reset_prefix_cache(self, enabled):
        self.prefix_cache, self.prefix_cache_enabled = None, enabled

    def _keys(self, prefix, key):
        """Where this prompt's keys are or are to be kept; None where they are not kept."""
        if self.prefix_cache is not None and self.prefix_cache.select(key, create=False):
            return self.prefix_cache
        if self.free_bytes < 4 * len(self.transformer_blocks) * 2 * prefix.nbytes:
            return None
        self.prefix_cache = self.prefix_cache or _Keys()
        self.prefix_cache.select(key)
        return self.prefix_cache

    def forward(self, x, timestep, context, ref_latents=None, transformer_options=None, **_):
        options = transformer_options or {}
        before = [self.txt_in(context)]
        before += [self.img_in(latent.flatten(2).mT) for latent in ref_latents or ()]
        tokens = torch.cat((*before, self.img_in(x.flatten(2).mT)), dim=1)
        count = tokens.shape[1] - x[0, 0].numel()
        times = torch.cat((timestep, timestep.new_zeros(1)))
        time = self.time_in(torch.stack((times.cos(), times.sin()), dim=1).to(x.dtype))
        rows = self.modulation(time)[:, None].chunk(4, dim=-1)
        mod = (*((row[-1:], row[:-1]) for row in rows), torch.zeros_like(rows[0][:1]))
        replaced = options.get("patches_replace", {}).get("dit", {})
        keys = None
        if self.prefix_cache_enabled and not replaced:
            prompt = torch.cat([part.flatten(1).float() for part in before], dim=1)
            keys = self._keys(tokens[:, :count], prompt)
        is_known = keys is not None and len(keys.slot) == len(self.transformer_blocks)
        prefix = None
        if keys is not None:
            prefix, tokens, count = tokens[:, :count], tokens[:, count:], 0
        for n, block in enumerate(self.transformer_blocks):
            if keys is not None and not is_known:
                length = prefix.shape[1]
                prefix = block(prefix, mod, None, _keeping(keys.slot, n), length, options)
            attend = _causal(count) if keys is None else _behind(keys.slot[n])

            def run(args, block=block, attend=attend):
                return {"img": block(args["img"], mod, None, attend, count, options)}

            replacement = replaced.get(("single_block", n))
            if replacement:
                tokens = replacement({"img": tokens}, {"original_block": run})["img"]
            else:
                tokens = run({"img": tokens})["img"]
        tokens = self.norm_out(tokens[:, count:], time[:-1])
        return self.proj_out(tokens).mT.reshape(x.shape[0], -1, *x.shape[2:])


def _causal(count):
    """Attention of the first ``count`` tokens to those before them, and of the others to all."""

    def attend(q, k, v):
        seen = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril()
        seen[count:] = True
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)

    return attend


def _keeping(slot, number):
    def attend(q, k, v):
        slot[number] = torch.stack((k, v))
        return _causal(q.shape[1])(q, k, v)

    return attend


def _behind(kept):
    def attend(q, k, v):
        keys, values = (torch.cat((old, new), dim=1) for old, new in zip(kept, (k, v), strict=True))
        return functional.scaled_dot_product_attention(q, keys, values)

    return attend


Prefixed.__module__, Prefixed.__qualname__ = PLACE, NAME
IS_REAL = importlib.util.find_spec(PLACE.rpartition(".")[0]) is not None
TRANSFORMER = getattr(importlib.import_module(PLACE), NAME) if IS_REAL else Prefixed


class _Model(comfy.model_base.BaseModel):
    """Keeps keys for the length of a run, as ComfyUI's model of this transformer does."""

    def __init__(self, config, device=None):
        super().__init__(
            config, comfy.model_base.ModelType.FLUX, device=device, unet_model=TRANSFORMER
        )

    @property
    def current_patcher(self):
        return self.__dict__.get("patcher")

    @current_patcher.setter
    def current_patcher(self, patcher):
        self.__dict__["patcher"] = patcher
        if hasattr(self, "diffusion_model"):
            self.diffusion_model.__dict__["current_patcher"] = patcher
            self.diffusion_model.reset_prefix_cache(patcher is not None)

    def extra_conds(self, **kwargs):
        found = super().extra_conds(**kwargs)
        found["c_crossattn"] = comfy.conds.CONDRegular(kwargs["cross_attn"])
        latents = kwargs.get("reference_latents")
        if latents is not None:
            latents = [self.process_latent_in(latent) for latent in latents]
            found["ref_latents"] = comfy.conds.CONDList(latents)
        return found


class _Config(comfy.supported_models_base.BASE):
    sampling_settings = {"multiplier": 1.0, "shift": 0.69}  # noqa: RUF012
    unet_extra_config = {}  # noqa: RUF012
    latent_format = comfy.latent_formats.LatentFormat
    supported_inference_dtypes = (torch.bfloat16, torch.float32)

    def get_model(self, state_dict, prefix="", device=None):
        return _Model(self, device=device)


CONFIG = getattr(comfy.supported_models, "QwenImage21", _Config)
