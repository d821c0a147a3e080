"""Models of pixels in the zoo: they have no autoencoder, and their patches are large."""

from __future__ import annotations

import importlib
import inspect

import torch

from .zoo import Case
from .zoo_images import FLUX_UNET, TEXT, Z_IMAGE_UNET, conditioning, mask, newer

PIXELS = (3, 64, 64)
HALF = (3, 32, 32)


def radiance(name, **unet):
    return Case(
        name=name, family="Chroma Radiance", config=newer("ChromaRadiance"),
        unet={
            **{key: value for key, value in FLUX_UNET.items() if key != "guidance_embed"},
            "image_model": "chroma_radiance", "in_channels": 3, "out_channels": 3, "patch_size": 16,
            "vec_in_dim": None, "in_dim": 64, "out_dim": 64, "hidden_dim": 32, "n_layers": 2,
            "nerf_hidden_size": 16, "nerf_mlp_ratio": 2, "nerf_depth": 2, "nerf_max_freqs": 2,
            "nerf_tile_size": 0, "nerf_final_head_type": "conv", "nerf_embedder_dtype": None,
            "use_x0": False, "use_sequential_txt_ids": False,
        } | unet,
        latent=PIXELS, conditioning=conditioning(),
    )  # fmt: skip


RADIANCE = (
    radiance("Chroma Radiance"),
    radiance(  # in tiles, of the older head, predicting the image
        "Chroma Radiance, x0",
        nerf_final_head_type="linear",
        nerf_tile_size=5,
        use_x0=True,
        use_sequential_txt_ids=True,
    ),
)

Z_PIXELS = Case(
    name="Z-Image, pixel space",
    family="Z-Image, pixel space",
    config=newer("ZImagePixelSpace"),
    unet=Z_IMAGE_UNET
    | {
        "image_model": "zimage_pixel",
        "in_channels": 3,
        "patch_size": 16,
        "decoder_hidden_size": 32,
        "decoder_num_res_blocks": 1,
        "decoder_max_freqs": 2,
        "use_x0": True,
    },
    latent=PIXELS,
    conditioning=conditioning(mask),
)

PIXELDIT_UNET = {
    "image_model": "pixeldit_t2i", "hidden_size": 64, "num_groups": 2, "patch_depth": 3,
    "pixel_depth": 2, "patch_size": 16, "pixel_hidden_size": 8, "pixel_attn_hidden_size": 32,
    "pixel_num_groups": 2, "txt_embed_dim": TEXT, "txt_max_length": 16,
}  # fmt: skip


def injecting():
    """Configuration of PiD where the class can add the small image to the pixels, too."""
    config = newer("PiD")
    if config is None:
        return None
    net = importlib.import_module("comfy.ldm.pixeldit.pid").PidNet
    return config if "pit_lq_inject" in inspect.signature(net).parameters else None


def degraded(random, tokens):
    """The small image that PiD makes larger, as its node sets it."""
    return {"lq_latent": random(1, 16, 2, 2), "degrade_sigma": torch.tensor([0.3])}


PIXELDIT = (
    Case(
        name="PixelDiT",
        family="PixelDiT",
        config=newer("PixelDiTT2I"),
        unet=PIXELDIT_UNET,
        latent=HALF,
        conditioning=conditioning(mask),
    ),
    Case(
        name="PiD",
        family="PiD",
        config=newer("PiD"),
        unet=PIXELDIT_UNET
        | {"image_model": "pid", "lq_hidden_dim": 32, "lq_num_res_blocks": 1, "lq_interval": 2},
        latent=PIXELS,
        conditioning=conditioning(mask, degraded),
    ),
    Case(
        name="PiD, all gates",
        family="PiD",
        config=injecting(),
        unet=PIXELDIT_UNET
        | {
            "image_model": "pid",
            "lq_hidden_dim": 32,
            "lq_num_res_blocks": 1,
            "lq_interval": 1,
            "pit_lq_inject": True,
        },
        latent=PIXELS,
        conditioning=conditioning(mask, degraded),
    ),
)


def token_ids(random, tokens):
    """Numbers of the prompt's tokens; the last one stands for the noise level."""
    numbers = random(1, tokens + 4).abs().mul(100).long() + 1000
    numbers[:, -1] = 151_673
    return {"text_input_ids": numbers}


def seen_references(random, tokens):
    return {"reference_latents": [torch.rand(1, 32, 32, 3)]}


def hidream_o1(name, *extras):
    return Case(
        name=name, family="HiDream-O1", config=newer("HiDreamO1"),
        unet={
            "image_model": "hidream_o1",
            "text_config_overrides": {
                "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3,
                "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
                "rope_dims": [4, 2, 2],
            },
            "vision_config_overrides": {
                "hidden_size": 32, "num_heads": 2, "intermediate_size": 32, "depth": 1,
                "num_position_embeddings": 16, "deepstack_visual_indexes": (),
            },
        },
        latent=PIXELS, conditioning=conditioning(token_ids, *extras),
    )  # fmt: skip


HIDREAM_O1 = (
    hidream_o1("HiDream-O1"),
    hidream_o1("HiDream-O1, references", seen_references),
)

ALL = (*RADIANCE, Z_PIXELS, *PIXELDIT, *HIDREAM_O1)

CASES: tuple[Case, ...] = tuple(case for case in ALL if case.config is not None)
