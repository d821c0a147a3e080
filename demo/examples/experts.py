"""The example workflow with two experts of the demo video model. Standard library only."""

from __future__ import annotations

from .drawing import MODEL, Column, Part, drawn, note, prompt
from .video import CFG, LATENT, SEED, STEPS, TEXT, decoder, shown

NAME = "12_Share_a_Schedule_between_Two_Experts"
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


def cache(title: str, source: str) -> Part:
    """The cache of an expert."""
    inputs, values = {"model": (source, "MODEL")}, ("Custom", SCHEDULE)
    return Part("GPH_Cache", inputs, {"MODEL": "MODEL"}, values, title)


def sampler(title: str, model: str, latent: str, is_first: bool) -> Part:
    """One expert's half of a run; the first leaves its noise to the second."""
    inputs = {
        "model": (model, "MODEL"), "positive": ("positive", "CONDITIONING"),
        "negative": ("negative", "CONDITIONING"), "latent_image": (latent, "LATENT"),
    }  # fmt: skip
    start, end = (0, STEPS // 2) if is_first else (STEPS // 2, STEPS)
    noise = "enable" if is_first else "disable"  # added before, and left after
    values = (noise, SEED, "fixed", STEPS, CFG, "euler", "simple", start, end, noise)
    return Part("KSamplerAdvanced", inputs, {"LATENT": "LATENT"}, values, title)


COLUMNS = (
    Column(
        320,
        {
            "note": note(NOTE, 340),
            "model": MODEL._replace(
                values=("video, high-noise expert",), title="High-noise expert"
            ),
            "low": MODEL._replace(values=("video, low-noise expert",), title="Low-noise expert"),
            "positive": prompt("Prompt", TEXT)._replace(is_folded=True),
            "negative": prompt("Negative prompt", "")._replace(is_folded=True),
            "latent": LATENT._replace(is_folded=True),
        },
    ),
    Column(
        340,
        {
            "high cache": cache("Golden Path Cache (high noise)", "model"),
            "low cache": cache("Golden Path Cache (low noise)", "low"),
        },
    ),
    Column(
        270,
        {
            "first cached": sampler("High noise (cached)", "high cache", "latent", True),
            "cached": sampler("Low noise (cached)", "low cache", "first cached", False),
            "cached frames": decoder("VAE Decode (cached)", "cached"),
        },
    ),
    Column(
        270,
        {
            "first full": sampler("High noise (full)", "model", "latent", True),
            "full": sampler("Low noise (full)", "low", "first full", False),
            "full frames": decoder("VAE Decode (full)", "full"),
        },
    ),
    Column(440, shown()),
)  # fmt: skip


def build() -> dict:
    """The workflow, in the page's format 0.4."""
    return drawn(COLUMNS, "c2a7d1f4-63f0-4e0b-8a45-0d3b7c1e9a52")
