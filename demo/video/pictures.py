"""Sheets of film strips: a caption, and frames of its clip from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from torch import Tensor, nn

from ..sampling import sample

SHOWN = (0, 3, 6, 9, 12)  # frames of a strip
ZOOM = 2
GAP = 2
MARGIN = 10
TEXT_HEIGHT = 14
SHEET_CAPTIONS = (
    "red circle moves left on plain white background",
    "yellow square moves up on gradient blue background",
    "green triangle grows on plain black background",
    "white cross turns on plain red background",
    "blue circle shrinks on gradient orange background",
    "purple triangle moves down on plain cyan background",
    "pink square turns on gradient green background",
    "red circle moves right past blue square on plain white background",
    "cyan cross moves up past yellow circle on gradient purple background",
    "black triangle moves down past white square on plain pink background",
)


def sheet(clips: Tensor, captions: Sequence[str], columns: int = 2) -> Image.Image:
    """Captioned film strips of clips ``[B, F, H, W, 3]``, line by line."""
    side = clips.shape[2] * ZOOM
    cell_x = len(SHOWN) * (side + GAP) + MARGIN
    cell_y = side + TEXT_HEIGHT + MARGIN
    lines = -(-len(captions) // columns)
    page = Image.new("RGB", (columns * cell_x + MARGIN, lines * cell_y + MARGIN), "white")
    draw = ImageDraw.Draw(page)
    for number, (clip, caption) in enumerate(zip(clips, captions, strict=True)):
        x, y = MARGIN + number % columns * cell_x, MARGIN + number // columns * cell_y
        draw.text((x, y), caption, fill="black")
        for place, frame in enumerate(SHOWN):
            pixels = Image.fromarray((clip[frame].numpy() * 255).round().astype(np.uint8))
            pixels = pixels.resize((side, side), Image.Resampling.NEAREST)
            page.paste(pixels, (x + place * (side + GAP), y + TEXT_HEIGHT))
    return page


def save_sheet(model: nn.Module, path: Path) -> None:
    """Sample the sheet's captions, one seed for all, and write their strips."""
    sheet(sample(model, SHEET_CAPTIONS, seed=0), SHEET_CAPTIONS).save(path)
