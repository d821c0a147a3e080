"""The workflows of released models, with the files and settings of ComfyUI's own templates."""

from __future__ import annotations

from .drawing import Part, folded, prompt
from .model_parts import (
    CONDITIONING,
    IMAGE,
    LATENT,
    cache,
    conditioning,
    decoder,
    diffusion_model,
    encoders,
    expert,
    image,
    latent,
    loaders,
    prompts,
    sampler,
    shifted,
    video,
)
from .released import Released

SHORT = "With so few steps *Quality* is the speed to begin with. "
TURBO = "With a Lightning or Turbo LoRA *Quality* computes 6 of 8 steps, or 3 of 4."
NODE = "Golden Path Cache"
QWEN_CLIP = ("qwen_2.5_vl_7b_fp8_scaled.safetensors", "qwen_image")
WAN_CLIP = ("umt5_xxl_fp8_e4m3fn_scaled.safetensors", "wan")
WAN_NEGATIVE = (
    "色调艳丽，过曝，静态，细节模糊不清，字幕，风格，作品，画作，画面，静止，整体发灰，最差质量，低质量，"
    "JPEG压缩残留，丑陋的，残缺的，多余的手指，画得不好的手部，画得不好的脸部，畸形的，毁容的，形态畸形的肢体，"
    "手指融合，静止不动的画面，杂乱的背景，三条腿，背景人很多，倒着走"
)
EDITED = {"clip": ("clip", "CLIP"), "vae": ("vae", "VAE"), "image1": ("scaled", "IMAGE")}
PICTURE = "a lighthouse on a rocky coast at sunset, waves breaking below, warm light, photograph"
CLIP_TEXT = "a red fox trotting through fresh snow, trees behind it, camera following at its side"

EXAMPLES = (
    Released(
        "03_Speed_Up_FLUX.1-dev", "flux_dev_full_text_to_image", "FLUX.1-dev", "Quality", 20, 8,
        SHORT + "With 50 steps *Balanced* takes the path published for FLUX.1-dev.",
        (
            latent("EmptySD3LatentImage", 1024, 1024),
            loaders(
                "flux1-dev.safetensors",
                ("clip_l.safetensors", "t5xxl_fp16.safetensors", "flux"), "ae.safetensors",
            ) | prompts(PICTURE, None),
            {"cache": cache("Quality", "model")},
            sampler(20, 1.0) | decoder() | image(),
        ),
    ),
    Released(
        "04_Speed_Up_FLUX.2", "image_flux2_text_to_image", "FLUX.2", "Quality", 20, 8,
        SHORT + TURBO,
        (
            latent("EmptyFlux2LatentImage", 1024, 1024),
            loaders(
                "flux2_dev_fp8mixed.safetensors",
                ("mistral_3_small_flux2_bf16.safetensors", "flux2"),
                "full_encoder_small_decoder.safetensors",
            ) | {"positive": prompt("Prompt", PICTURE, "clip")},
            {
                "cache": cache("Quality", "model"),
                "guided": folded(
                    "FluxGuidance", {"conditioning": conditioning("positive")}, CONDITIONING, 4.0
                ),
                "guider": folded(
                    "BasicGuider",
                    {"model": ("cache", "MODEL"), "conditioning": conditioning("guided")},
                    {"GUIDER": "GUIDER"},
                ),
                "method": folded("KSamplerSelect", {}, {"SAMPLER": "SAMPLER"}, "euler"),
            },
            {
                "sigmas": Part(
                    "Flux2Scheduler", {}, {"SIGMAS": "SIGMAS"}, (20, 1024, 1024), "Steps and size"
                ),
                "noise": Part("RandomNoise", {}, {"NOISE": "NOISE"}, (1, "fixed")),
                "sampler": folded(
                    "SamplerCustomAdvanced",
                    {
                        "noise": ("noise", "NOISE"), "guider": ("guider", "GUIDER"),
                        "sampler": ("method", "SAMPLER"), "sigmas": ("sigmas", "SIGMAS"),
                        "latent_image": ("latent", "LATENT"),
                    },
                    {"output": "LATENT", "denoised_output": "LATENT"},
                ),
                **decoder(output="output"),
                **image(),
            },
        ),
    ),
    Released(
        "05_Speed_Up_Qwen-Image", "image_qwen_image", "Qwen-Image", "Balanced", 50, 13,
        f"50 steps are the model's original setting. {TURBO}",
        (
            latent("EmptySD3LatentImage", 1328, 1328),
            loaders(
                "qwen_image_fp8_e4m3fn.safetensors", QWEN_CLIP, "qwen_image_vae.safetensors"
            ) | prompts(PICTURE)
            | {"shifted": shifted("ModelSamplingAuraFlow", 3.1)},
            {"cache": cache("Balanced", "shifted")},
            sampler(50, 4.0) | decoder() | image(),
        ),
    ),
    Released(
        "06_Speed_Up_Qwen-Image-Edit", "image_qwen_image_edit_2511", "Qwen-Image-Edit",
        "Balanced", 40, 10, f"Choose your own picture in *Load Image*. {TURBO}",
        (
            {
                "image": Part(
                    "LoadImage", {}, {"IMAGE": "IMAGE", "MASK": "MASK"}, ("example.png", "image"),
                ),
            },
            {
                **loaders(
                    "qwen_image_edit_2511_fp8mixed.safetensors", QWEN_CLIP,
                    "qwen_image_vae.safetensors",
                ),
                "positive": Part(
                    "TextEncodeQwenImageEditPlus", EDITED, CONDITIONING,
                    ("Turn the picture into a watercolour painting.",), "Prompt",
                ),
                "negative": folded(
                    "TextEncodeQwenImageEditPlus", EDITED, CONDITIONING, "", title="Negative prompt"
                ),
                "scaled": folded("FluxKontextImageScale", {"image": ("image", "IMAGE")}, IMAGE),
                "latent": folded(
                    "VAEEncode", {"pixels": ("scaled", "IMAGE"), "vae": ("vae", "VAE")}, LATENT
                ),
            },
            {
                "cache": cache("Balanced", "normed", "patched_model"),
                "shifted": shifted("ModelSamplingAuraFlow", 3.1),
                "normed": folded("CFGNorm", {"model": ("shifted", "MODEL")},
                    {"patched_model": "MODEL"}, 1.0, False),
            },
            sampler(40, 4.0) | decoder() | image(),
        ),
    ),
    Released(
        "07_Speed_Up_Z-Image", "image_z_image", "Z-Image", "Quality", 25, 11,
        SHORT + "Z-Image-Turbo has a workflow of its own.",
        (
            latent("EmptySD3LatentImage", 1024, 1024),
            loaders(
                "z_image_bf16.safetensors", ("qwen_3_4b.safetensors", "lumina2"), "ae.safetensors"
            ) | prompts(PICTURE),
            {"cache": cache("Quality", "model")},
            sampler(25, 4.0, "res_multistep") | decoder() | image(),
        ),
    ),
    Released(
        "08_Speed_Up_Wan_2.1", "text_to_video_wan", "Wan 2.1", "Balanced", 30, 8,
        "The 14B model works the same way and gains more seconds.",
        (
            latent("EmptyHunyuanLatentVideo", 832, 480, 33),
            loaders("wan2.1_t2v_1.3B_fp16.safetensors", WAN_CLIP, "wan_2.1_vae.safetensors")
            | prompts(CLIP_TEXT, WAN_NEGATIVE),
            {"cache": cache("Balanced", "model")},
            sampler(30, 6.0, "uni_pc") | decoder() | video(16),
        ),
    ),
    Released(
        "09_Speed_Up_Wan_2.2_Two_Experts", "video_wan2_2_14B_t2v", "Wan 2.2 14B",
        "Balanced", 10, 4,
        f"Each expert takes 10 of the 20 steps and has a *Golden Path Cache* of its own. {TURBO}",
        (
            latent("EmptyHunyuanLatentVideo", 640, 640, 81),
            {
                "model": diffusion_model(
                    "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors", "High-noise expert"
                ),
                "low": diffusion_model(
                    "wan2.2_t2v_low_noise_14B_fp8_scaled.safetensors", "Low-noise expert"
                ),
                **encoders(WAN_CLIP, "wan_2.1_vae.safetensors"),
                **prompts(CLIP_TEXT, WAN_NEGATIVE),
                "high shifted": shifted("ModelSamplingSD3", 5.0, "model"),
                "low shifted": shifted("ModelSamplingSD3", 5.0, "low"),
            },
            {
                "high cache": cache("Balanced", "high shifted", title=f"{NODE} (high noise)"),
                "low cache": cache("Balanced", "low shifted", title=f"{NODE} (low noise)"),
            },
            {
                "first": expert("high cache", "latent", 3.5, (20, 0, 10)),
                "sampler": expert("low cache", "first", 3.5, (20, 10, 20)),
            },
            decoder() | video(16),
        ),
        experts=2, widths=(320, 270, 340, 270, 300), note_height=460,
    ),
    Released(
        "10_Speed_Up_HunyuanVideo_1.5", "video_hunyuan_video_1.5_720p_t2v", "HunyuanVideo 1.5",
        "Quality", 20, 8, SHORT + "Its makers sample 50 steps; *Balanced* suits them.",
        (
            latent("EmptyHunyuanVideo15Latent", 1280, 720, 121),
            loaders(
                "hunyuanvideo1.5_720p_t2v_fp16.safetensors",
                (
                    "qwen_2.5_vl_7b_fp8_scaled.safetensors", "byt5_small_glyphxl_fp16.safetensors",
                    "hunyuan_video_15",
                ),
                "hunyuanvideo15_vae_fp16.safetensors",
            ) | prompts(CLIP_TEXT),
            {"cache": cache("Quality", "model")},
            sampler(20, 6.0) | decoder() | video(24),
        ),
    ),
)  # fmt: skip
