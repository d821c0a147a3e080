"""Transformers in the zoo whose block stack is not cached: docs/models.md says why."""

from __future__ import annotations

import comfy.supported_models

from .zoo import Case
from .zoo_images import TEXT, conditioning, newer
from .zoo_videos import WAN, WAN_LATENT

COSMOS_1 = Case(
    name="Cosmos 1", family="GeneralDIT", config=comfy.supported_models.CosmosT2V,
    unet={
        "image_model": "cosmos", "max_img_h": 240, "max_img_w": 240, "max_frames": 128,
        "in_channels": 16, "out_channels": 16, "patch_spatial": 2, "patch_temporal": 1,
        "model_channels": 64, "num_blocks": 2, "num_heads": 2, "crossattn_emb_channels": TEXT,
        "concat_padding_mask": True, "pos_emb_cls": "rope3d", "block_x_format": "THWBD",
        "affline_emb_norm": True, "use_adaln_lora": True, "adaln_lora_dim": 8,
        "extra_per_block_abs_pos_emb": True, "extra_per_block_abs_pos_emb_type": "learnable",
    },
    latent=(16, 3, 8, 8), conditioning=conditioning(),
)  # fmt: skip


def small_video(random, tokens):
    """The video that SeedVR2 makes larger, with its mask."""
    return {"condition": random(1, 17, 3, 8, 8)}


SEEDVR_UNET = {
    "image_model": "seedvr2", "norm_eps": 1e-5, "num_layers": 4, "mlp_type": "swiglu",
    "vid_dim": 64, "txt_in_dim": TEXT, "heads": 2, "head_dim": 32, "mm_layers": 2, "rope_dim": 24,
    "vid_out_norm": True,
}  # fmt: skip

SEEDVR = Case(
    name="SeedVR2", family="NaDiT", config=newer("SeedVR2"), unet=SEEDVR_UNET, latent=(16, 3, 8, 8),
    conditioning=conditioning(small_video),
)  # fmt: skip

CAUSAL_WAN = Case(
    name="causal Wan", family="CausalWanModel", config=newer("WAN21_CausalAR_T2V"),
    unet=WAN | {"causal_ar": True}, latent=WAN_LATENT, conditioning=conditioning(),
)  # fmt: skip


def posed(random, tokens):
    """The video whose pose is followed, with what a text encoder makes of its prompt."""
    _, _, height, width = WAN_LATENT
    return {"pose_video_latent": random(1, 16, 2, height, width)}


WAN_ANIMATE_2 = Case(
    name="Wan Animate 2",
    family="WanAnimate2Model",
    config=newer("WAN_Animate2"),
    unet=WAN | {"model_type": "animate2", "in_dim": 36},
    latent=WAN_LATENT,
    conditioning=conditioning(posed),
)

ALL = (COSMOS_1, SEEDVR, CAUSAL_WAN, WAN_ANIMATE_2)

CASES = {case.name: case for case in ALL if case.config is not None}
