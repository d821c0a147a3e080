"""Random models of ComfyUI's real classes: time does not depend on what the weights are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import comfy.model_patcher
import comfy.sample
import comfy.supported_models
import torch


@dataclass(frozen=True)
class Benchmarked:
    """A model, what it samples and how."""

    name: str
    config: str  # class in comfy.supported_models
    unet: dict
    latent: tuple[int, ...]  # without batch
    text: tuple[int, int]  # tokens and channels
    extras: dict = field(default_factory=dict)  # channels of a pooled prompt
    weights: str = ""  # their dtype, where it is not the one to compute in


FLUX = {
    "image_model": "flux", "in_channels": 16, "out_channels": 16, "patch_size": 2, "theta": 10_000,
    "qkv_bias": True, "guidance_embed": True, "txt_ids_dims": [], "mlp_ratio": 4.0,
}  # fmt: skip
WAN = {
    "image_model": "wan2.1", "model_type": "t2v", "patch_size": (1, 2, 2), "in_dim": 16,
    "out_dim": 16, "text_len": 512, "window_size": (-1, -1), "qk_norm": True,
    "cross_attn_norm": True, "eps": 1e-6,
}  # fmt: skip

QWEN = {"image_model": "qwen_image", "patch_size": 2, "in_channels": 64, "out_channels": 16}

# 1,024 image tokens, width 512, 12 blocks: small enough for one CPU core.
SMALL = (
    Benchmarked(
        "FLUX, width 512, 4 + 8 blocks, 1,024 tokens", "Flux",
        FLUX | {
            "vec_in_dim": 64, "context_in_dim": 64, "hidden_size": 512, "num_heads": 8,
            "depth": 4, "depth_single_blocks": 8, "axes_dim": [16, 24, 24],
        },
        (16, 64, 64), (64, 64), {"pooled": 64},
    ),
    Benchmarked(
        "Wan, width 512, 12 blocks, 1,024 tokens", "WAN21_T2V",
        WAN | {
            "dim": 512, "ffn_dim": 2048, "freq_dim": 64, "text_dim": 64, "num_heads": 8,
            "num_layers": 12,
        },
        (16, 4, 32, 32), (64, 64),
    ),
    Benchmarked(
        "Qwen-Image, width 512, 8 blocks, 1,024 tokens", "QwenImage",
        QWEN | {
            "num_layers": 8, "attention_head_dim": 64, "num_attention_heads": 8,
            "joint_attention_dim": 64, "axes_dims_rope": (16, 24, 24),
        },
        (16, 1, 64, 64), (64, 64),
    ),
)  # fmt: skip

# The shapes of the released models, for a GPU.
FLUX_DEV = Benchmarked(
    "FLUX.1-dev shapes, 1024x1024", "Flux",
    FLUX | {
        "vec_in_dim": 768, "context_in_dim": 4096, "hidden_size": 3072, "num_heads": 24,
        "depth": 19, "depth_single_blocks": 38, "axes_dim": [16, 56, 56],
    },
    (16, 128, 128), (512, 4096), {"pooled": 768},
)  # fmt: skip
REAL = (
    FLUX_DEV,
    replace(FLUX_DEV, name=f"{FLUX_DEV.name}, fp8 weights", weights="float8_e4m3fn"),
    Benchmarked(
        "Qwen-Image shapes, 1328x1328", "QwenImage",
        QWEN | {
            "num_layers": 60, "attention_head_dim": 128, "num_attention_heads": 24,
            "joint_attention_dim": 3584, "axes_dims_rope": (16, 56, 56),
        },
        (16, 1, 166, 166), (256, 3584),
    ),
    Benchmarked(
        "Wan 2.1 14B shapes, 832x480, 81 frames", "WAN21_T2V",
        WAN | {
            "dim": 5120, "ffn_dim": 13824, "freq_dim": 256, "text_dim": 4096, "num_heads": 40,
            "num_layers": 40,
        },
        (16, 21, 60, 104), (512, 4096),
    ),
)  # fmt: skip


def build(case: Benchmarked, dtype, device):
    """A MODEL with random weights on a device."""
    config = getattr(comfy.supported_models, case.config)(dict(case.unet))
    stored = getattr(torch, case.weights) if case.weights else dtype
    config.set_inference_dtype(stored, None if stored == dtype else dtype)
    model = config.get_model({}, "", device=device)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.diffusion_model.parameters():
            parameter.copy_(torch.empty_like(parameter, dtype=dtype).normal_(std=0.02))
    return comfy.model_patcher.ModelPatcher(model, load_device=device, offload_device=device)


def conditioning(case: Benchmarked) -> list:
    """A random prompt."""
    pooled = {"pooled_output": torch.randn(1, case.extras["pooled"])} if case.extras else {}
    return [[torch.randn(1, *case.text), pooled]]


def sample(case: Benchmarked, model, steps: int, cfg=1.0, begins=lambda: None, callback=None):
    """Latent of a run on a random prompt with Euler; ``begins`` is called right before it."""
    prompt, latent = conditioning(case), torch.zeros(1, *case.latent)
    noise = comfy.sample.prepare_noise(latent, seed=1)
    with torch.inference_mode():
        begins()
        return comfy.sample.sample(
            model, noise, steps, cfg, "euler", "simple", prompt, prompt, latent,
            disable_pbar=True, seed=1, callback=callback,
        )  # fmt: skip
