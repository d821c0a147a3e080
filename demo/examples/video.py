"""The example workflow with the demo video model. Standard library only."""

from __future__ import annotations

from .drawing import MODEL, Column, Part, drawn, folded, note, prompt

NAME = "11_Try_It_on_a_Video"
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


def sampler(title: str, model: tuple[str, str]) -> Part:
    """A run of the clip."""
    inputs = {
        "model": model, "positive": ("positive", "CONDITIONING"),
        "negative": ("negative", "CONDITIONING"), "latent_image": ("latent", "LATENT"),
    }  # fmt: skip
    values = (SEED, "fixed", STEPS, CFG, "euler", "simple", 1.0)
    return Part("KSampler", inputs, {"LATENT": "LATENT"}, values, title)


def decoder(title: str, source: str) -> Part:
    """The frames of a run."""
    inputs = {"samples": (source, "LATENT"), "vae": ("model", "VAE")}
    return folded("VAEDecode", inputs, {"IMAGE": "IMAGE"}, title=title)


def shown() -> dict[str, Part]:
    """The nodes that compare the clips and save the cached one."""
    both = {"reference": ("full frames", "IMAGE"), "test": ("cached frames", "IMAGE")}
    return {
        "compare": Part(
            "GPH_QualityCompare", both, values=("off", True, 0.0, FPS), height=700
        ),
        "saved": folded(
            "SaveAnimatedWEBP", {"images": ("cached frames", "IMAGE")}, {},
            "golden_path", FPS, True, 80, "default",
        ),
    }  # fmt: skip


LATENT = Part("EmptyHunyuanLatentVideo", {}, {"LATENT": "LATENT"}, (64, 64, 13, 1))
COLUMNS = (
    Column(
        320,
        {
            "note": note(NOTE, 380),
            "model": MODEL._replace(values=("video",)),
            "positive": prompt("Prompt", TEXT),
            "negative": prompt("Negative prompt", "")._replace(is_folded=True),
            "latent": LATENT._replace(is_folded=True),
        },
    ),
    Column(
        340,
        {
            "cache": Part(
                "GPH_Cache", {"model": ("model", "MODEL")}, {"MODEL": "MODEL"},
                ("Balanced", "0-4,6,8,10,14,19,30,43,49/50"),
            ),
        },
    ),
    Column(
        280,
        {
            "cached": sampler("KSampler (cached)", ("cache", "MODEL")),
            "full": sampler("KSampler (full)", ("model", "MODEL")),
            "cached frames": decoder("VAE Decode (cached)", "cached"),
            "full frames": decoder("VAE Decode (full)", "full"),
        },
    ),
    Column(460, shown()),
)  # fmt: skip


def build() -> dict:
    """The workflow, in the page's format 0.4."""
    return drawn(COLUMNS, "5f0e1c52-9f3b-4a55-9a0c-3d6c7a4c2b10")
