"""The example workflow with *Golden Path Compare Run*. Standard library only."""

from __future__ import annotations

from .drawing import MODEL, Column, Part, drawn, note
from .search import CFG, PICTURE

NAME = "02_Compare_the_Speeds"
STEPS = 50
NOTE = (
    "## What does the cache cost?\n\n"
    "Press *Run*. *Golden Path Compare Run* makes the same picture four times from the same "
    "noise: in full, with the cache, with evenly spaced full steps, and with fewer plain steps, "
    "which cost as much as the cached run.\n\n"
    "The table shows the time of each run and its distance to the full one (PSNR: higher is "
    "closer). The figure shows the pictures.\n\n"
    "Choose another *speed* and run it again.\n\n"
    "**Your own model:** put *Golden Path Compare Run* in the place of your *KSampler*, with the "
    "same settings, and connect your VAE."
)


def _prompt(title: str, text: str) -> Part:
    return Part("GPH_DemoPrompt", {}, {"CONDITIONING": "CONDITIONING"}, (text,), title)


COLUMNS = (
    Column(
        320,
        {
            "note": note(NOTE, 360),
            "model": MODEL,
            "positive": _prompt("Prompt", PICTURE),
            "negative": _prompt("Negative prompt", "")._replace(is_folded=True),
        },
    ),
    Column(
        560,
        {
            "compared": Part(
                "GPH_CompareRun",
                {
                    "model": ("model", "MODEL"), "positive": ("positive", "CONDITIONING"),
                    "negative": ("negative", "CONDITIONING"), "latent_image": ("latent", "LATENT"),
                    "vae": ("model", "VAE"),
                },
                {
                    "images": "IMAGE", "figure": "IMAGE", "table": "STRING", "JSON": "STRING",
                    "PSNR dB": "FLOAT", "SSIM": "FLOAT", "speed-up": "FLOAT",
                },
                (1, "fixed", STEPS, CFG, "euler", "simple", 1.0, "Balanced", "", "off"),
                height=740,
            ),
            "latent": Part(
                "EmptyLatentImage", {}, {"LATENT": "LATENT"}, (64, 64, 1), is_folded=True
            ),
        },
    ),
    Column(
        560,
        {"figure": Part("PreviewImage", {"images": ("compared", "figure")}, height=740)},
    ),
)  # fmt: skip


def build() -> dict:
    """The workflow, in the page's format 0.4."""
    return drawn(COLUMNS, "7a0e4f6b-1c55-4a0f-8f0e-2a5b9d3c6e18")
