"""The example workflow *Try Golden Path Cache: two experts*. Standard library only."""

from __future__ import annotations

from .drawing import MODEL, Part, drawn, prompt
from .video import CFG, SEED, STEPS, TEXT, decoder, shown

NAME = "Try_Golden_Path_Cache_Two_Experts"
# The low-noise expert takes over at step 25, which must be full for it.
SCHEDULE = "0,2,5,8,12,16,21,25,28,32,37,43,49/50"
NOTE = (
    "## One schedule for two experts\n\n"
    "Press *Run*. As with Wan 2.2, a high-noise expert samples the first 25 of 50 steps and a "
    "low-noise expert the others. Each has a *Golden Path Cache*. Both have the same schedule of "
    "all 50 steps, and each run takes its part of it.\n\n"
    "The lower pair of samplers makes the same clip without the cache. Press ▶ in *Quality "
    "Compare* to play both in step.\n\n"
    "**Your own model:** replace the two demo models with the loaders of the two experts, and "
    "write a schedule for the step count of your samplers."
)


def cache(left: int, source: str) -> Part:
    """The cache of an expert."""
    return Part(
        "GPH_Cache", (left, 340, 360, 380), {"model": (source, "MODEL")}, {"MODEL": "MODEL"},
        ("Custom", SCHEDULE),
    )  # fmt: skip


def sampler(title: str, box: tuple[int, int], model: str, latent: str, is_first: bool) -> Part:
    """One expert's half of a run; the first leaves its noise to the second."""
    inputs = {
        "model": (model, "MODEL"), "positive": ("positive", "CONDITIONING"),
        "negative": ("negative", "CONDITIONING"), "latent_image": (latent, "LATENT"),
    }  # fmt: skip
    start, end = (0, STEPS // 2) if is_first else (STEPS // 2, STEPS)
    noise = "enable" if is_first else "disable"  # added before, and left after
    values = (noise, SEED, "fixed", STEPS, CFG, "euler", "simple", start, end, noise)
    return Part("KSamplerAdvanced", (*box, 300, 370), inputs, {"LATENT": "LATENT"}, values, title)


PARTS = {
    "model": MODEL._replace(
        box=(40, 120, 360, 130), values=("video, high-noise expert",), title="High-noise expert"
    ),
    "low": MODEL._replace(
        box=(440, 120, 360, 130), values=("video, low-noise expert",), title="Low-noise expert"
    ),
    "high cache": cache(40, "model"),
    "low cache": cache(440, "low"),
    "positive": prompt("Prompt", (40, 780, 360, 130), TEXT),
    "negative": prompt("Negative prompt (empty)", (440, 780, 360, 130), ""),
    "latent": Part(
        "EmptyHunyuanLatentVideo", (40, 970, 360, 150), {}, {"LATENT": "LATENT"}, (64, 64, 13, 1)
    ),
    "first cached": sampler("High noise (cached)", (860, 120), "high cache", "latent", True),
    "cached": sampler("Low noise (cached)", (1200, 120), "low cache", "first cached", False),
    "cached frames": decoder("VAE Decode (cached)", (1540, 120), "cached"),
    "first full": sampler("High noise (full)", (860, 560), "model", "latent", True),
    "full": sampler("Low noise (full)", (1200, 560), "low", "first full", False),
    "full frames": decoder("VAE Decode (full)", (1540, 560), "full"),
    **shown(1790),
}  # fmt: skip


def build() -> dict:
    """The workflow, in the page's format 0.4."""
    return drawn(PARTS, NOTE, "c2a7d1f4-63f0-4e0b-8a45-0d3b7c1e9a52")
