"""The workflows of released models of few steps. Standard library only."""

from __future__ import annotations

from .drawing import Part, folded, policy
from .model_parts import (
    MODEL,
    cache,
    custom,
    decoder,
    diffusion_model,
    encoders,
    expert,
    image,
    latent,
    learning,
    loaders,
    prompts,
    sampler,
    shifted,
    video,
)
from .released import Released
from .released_models import CLIP_TEXT, NODE, PICTURE, WAN_CLIP, WAN_NEGATIVE

LAST = "0-2/4"  # the last step repeats the one before it


def lightning(noise: str, source: str) -> Part:
    """A LoRA of four steps for one expert."""
    file = f"wan2.2_t2v_lightx2v_4steps_lora_v1.1_{noise}_noise.safetensors"
    return folded("LoraLoaderModelOnly", {"model": (source, "MODEL")}, MODEL, file, 1.0)


EXAMPLES = (
    Released(
        "17_Speed_Up_Z-Image-Turbo", "image_z_image_turbo", "Z-Image-Turbo", "Quality", 8, 6,
        "So few steps leave little to save. Six plain steps take as long and draw another picture: "
        "*Golden Path Compare Run* shows both.",
        (
            latent("EmptySD3LatentImage", 1024, 1024),
            loaders(
                "z_image_turbo_bf16.safetensors", ("qwen_3_4b.safetensors", "lumina2"),
                "ae.safetensors",
            ) | prompts(PICTURE, None)
            | {"shifted": shifted("ModelSamplingAuraFlow", 3.0)},
            {"cache": learning(cache("Quality", "shifted"))},
            sampler(8, 1.0, "res_multistep", "randomize") | decoder() | image(),
        ),
        learns=True,
    ),
    Released(
        "18_Speed_Up_Wan_2.2_with_Lightning", "video_wan2_2_14B_t2v", "Wan 2.2 with Lightning",
        "Custom", 4, 3,
        "Each expert takes two steps, and a cached step needs a full one of its own expert. So the "
        "last step is left out: it repeats the one before. On our small model of four steps 72 % "
        "of the images then differed hardly from the full ones; with three plain steps 6 %. "
        "*learn* needs longer runs.",
        (
            latent("EmptyHunyuanLatentVideo", 640, 640, 81)
            | {"high fast": lightning("high", "model"), "low fast": lightning("low", "low")},
            {
                "model": diffusion_model(
                    "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors", "High-noise expert"
                ),
                "low": diffusion_model(
                    "wan2.2_t2v_low_noise_14B_fp8_scaled.safetensors", "Low-noise expert"
                ),
                **encoders(WAN_CLIP, "wan_2.1_vae.safetensors"),
                **prompts(CLIP_TEXT, WAN_NEGATIVE),
                "high shifted": shifted("ModelSamplingSD3", 5.0, "high fast"),
                "low shifted": shifted("ModelSamplingSD3", 5.0, "low fast"),
            },
            {
                "policy": policy("velocity reuse"),
                "high cache": custom(LAST, "policy", "high shifted", f"{NODE} (high noise)"),
                "low cache": custom(LAST, "policy", "low shifted", f"{NODE} (low noise)"),
            },
            {
                "first": expert("high cache", "latent", 1.0, (4, 0, 2)),
                "sampler": expert("low cache", "first", 1.0, (4, 2, 4)),
            },
            decoder() | video(16),
        ),
        widths=(320, 270, 340, 270, 300), note_height=480, schedule=LAST,
    ),
)  # fmt: skip
