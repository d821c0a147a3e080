"""The example workflow *Try Golden Path Cache: video*. Standard library only."""

from __future__ import annotations

from .drawing import MODEL, Part, drawn, prompt

NAME = "Try_Golden_Path_Cache_Video"
STEPS, CFG, SEED, FPS = 50, 5.0, 1, 8.0
TEXT = "red square moves right on plain blue background"
NOTE = (
    "## Try the cache on a video\n\n"
    "Press *Run*. Two samplers with the same seed, prompt and steps make a clip of 13 frames each: "
    "one with the model itself, the other with *Golden Path Cache*.\n\n"
    "Press ▶ in *Quality Compare* to play both in step, beside their difference. The curve below "
    "shows how close each frame is, and how close each change from one frame to the next.\n\n"
    "Choose another *speed*, or another prompt of the demo model's words: *circle, square, "
    "triangle, cross*; *moves left, right, up, down*; *turns, grows, shrinks*; *red square moves "
    "left past white cross on gradient blue background*."
)


def sampler(title: str, top: int, model: tuple[str, str]) -> Part:
    """A run of the clip."""
    inputs = {
        "model": model, "positive": ("positive", "CONDITIONING"),
        "negative": ("negative", "CONDITIONING"), "latent_image": ("latent", "LATENT"),
    }  # fmt: skip
    values = (SEED, "fixed", STEPS, CFG, "euler", "simple", 1.0)
    return Part("KSampler", (760, top, 300, 290), inputs, {"LATENT": "LATENT"}, values, title)


def decoder(title: str, box: tuple[int, int], source: str) -> Part:
    """The frames of a run."""
    inputs = {"samples": (source, "LATENT"), "vae": ("model", "VAE")}
    return Part("VAEDecode", (*box, 210, 60), inputs, {"IMAGE": "IMAGE"}, (), title)


def shown(left: int) -> dict[str, Part]:
    """The nodes that compare the clips and save the cached one."""
    both = {"reference": ("full frames", "IMAGE"), "test": ("cached frames", "IMAGE")}
    return {
        "compare": Part(
            "GPH_QualityCompare", (left, 120, 620, 760), both, values=("off", True, 0.0, FPS)
        ),
        "saved": Part(
            "SaveAnimatedWEBP", (left + 680, 120, 320, 420),
            {"images": ("cached frames", "IMAGE")},
            values=("golden_path", FPS, True, 80, "default"),
        ),
    }  # fmt: skip


PARTS = {
    "model": MODEL._replace(values=("video",)),
    "cache": Part(
        "GPH_Cache", (340, 120, 360, 380), {"model": ("model", "MODEL")}, {"MODEL": "MODEL"},
        ("Balanced", "0-4,6,8,10,14,19,30,43,49/50"),
    ),
    "positive": prompt("Prompt", (340, 560, 360, 130), TEXT),
    "negative": prompt("Negative prompt (empty)", (340, 750, 360, 130), ""),
    "latent": Part(
        "EmptyHunyuanLatentVideo", (340, 940, 360, 150), {}, {"LATENT": "LATENT"}, (64, 64, 13, 1)
    ),
    "cached": sampler("KSampler (cached)", 120, ("cache", "MODEL")),
    "cached frames": decoder("VAE Decode (cached)", (760, 460), "cached"),
    "full": sampler("KSampler (full)", 580, ("model", "MODEL")),
    "full frames": decoder("VAE Decode (full)", (760, 920), "full"),
    **shown(1120),
}  # fmt: skip


def build() -> dict:
    """The workflow, in the page's format 0.4."""
    return drawn(PARTS, NOTE, "5f0e1c52-9f3b-4a55-9a0c-3d6c7a4c2b10")
