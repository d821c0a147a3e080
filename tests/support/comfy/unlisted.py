"""A model that docs/models.md does not list."""

import comfy.supported_models
import torch

from ..zoo import zoo


def conditioning(seed, tokens=4):
    return [[torch.randn(1, tokens, 8, generator=torch.Generator().manual_seed(seed)), {}]]


# Stable Diffusion 1.5, a U-Net that predicts noise, made tiny.
UNET = {
    "image_size": 32, "in_channels": 4, "out_channels": 4, "model_channels": 32,
    "num_res_blocks": [1, 1], "channel_mult": [1, 2], "num_heads": 2, "num_head_channels": -1,
    "transformer_depth": [1, 1], "transformer_depth_output": [1, 1, 1, 1],
    "transformer_depth_middle": 1, "context_dim": 8, "use_spatial_transformer": True,
    "use_linear_in_transformer": False, "use_temporal_attention": False, "legacy": False,
    "adm_in_channels": None,
}  # fmt: skip
CASE = zoo.Case("SD 1.5", "", comfy.supported_models.SD15, UNET, (4, 8, 8), conditioning, 3.0)
