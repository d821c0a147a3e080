"""Figures of the demo model: a sheet of captioned images, the loss curve."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from torch import Tensor

ZOOM = 3
MARGIN = 8
TEXT_HEIGHT = 42


def sheet(images: Tensor, captions: Sequence[str], columns: int) -> Image.Image:
    """Captioned images ``[B, H, W, 3]`` in rows of ``columns``."""
    side = images.shape[1] * ZOOM
    cell_x, cell_y = side + MARGIN, side + TEXT_HEIGHT + MARGIN
    rows = -(-len(captions) // columns)
    page = Image.new("RGB", (columns * cell_x + MARGIN, rows * cell_y + MARGIN), "white")
    draw = ImageDraw.Draw(page)
    for i, (image, caption) in enumerate(zip(images, captions, strict=True)):
        x, y = MARGIN + i % columns * cell_x, MARGIN + i // columns * cell_y
        pixels = Image.fromarray((image.numpy() * 255).round().astype(np.uint8))
        page.paste(pixels.resize((side, side), Image.Resampling.NEAREST), (x, y))
        draw.multiline_text((x, y + side + 3), textwrap.fill(caption, 32), fill="black")
    return page


def loss_curve(log: Path, path: Path) -> None:
    """Draw the training loss of a log written by ``train.py``."""
    from matplotlib.figure import Figure

    rows = [json.loads(line) for line in log.read_text().splitlines()]
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([row["images"] for row in rows], [row["loss"] for row in rows], linewidth=1)
    axes.set(xlabel="training images", ylabel="velocity error (mean square)", yscale="log")
    axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=120)
