"""Figures: a sheet of captioned images, the loss curve, the demo's contact sheet."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
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


def loss_curve(log: Path, path: Path, samples: str = "images") -> None:
    """Draw the training loss of a log written by ``training.py``."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([row[samples] for row in rows], [row["loss"] for row in rows], linewidth=1)
    axes.set(xlabel=f"training {samples}", ylabel="velocity error (mean square)", yscale="log")
    axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=120)


SHEET = "Golden Path Cache on the demo model: dark = full step, light = cached"


def contact_sheet(
    rows: Sequence,
    titles: Sequence[str],
    prompts: Sequence[str],
    path: Path,
    title: str = SHEET,
    chosen: Sequence[int] | None = None,
) -> None:
    """Draw a column for each row of the demo's table, a line for each prompt.

    The schedule stands above each image; of a clip it is the middle frame.

    Args:
        chosen: numbers of the prompts that are drawn; None: all.
    """
    chosen = range(len(prompts)) if chosen is None else chosen
    figure = Figure(figsize=(2.1 * len(rows), 2.6 * len(chosen) + 0.7), layout="constrained")
    figure.suptitle(title, size=min(15, 3.5 * len(rows)))
    grid = figure.add_gridspec(
        2 * len(chosen),
        len(rows),
        height_ratios=[0.07, 1] * len(chosen),
        hspace=0.02,
        wspace=0.02,
    )
    colors = ListedColormap(["#1d4e89", "#cfe0f1"])
    for column, row in enumerate(rows):
        bits = np.array([[int(bit) for bit in row.schedule.bits]])
        for line, prompt in enumerate(chosen):
            strip = figure.add_subplot(grid[2 * line, column])
            strip.imshow(bits, aspect="auto", cmap=colors, vmin=0, vmax=1, interpolation="nearest")
            axes = figure.add_subplot(grid[2 * line + 1, column])
            frames = row.images[prompt]
            axes.imshow(frames[len(frames) // 2], interpolation="nearest")
            for part in (strip, axes):
                part.set(xticks=[], yticks=[])
            if line == 0:
                strip.set_title(titles[column].replace(", ", ",\n", 1), size=10)
            if row.psnr_db:
                axes.set_xlabel(f"{row.psnr_db[prompt]:.1f} dB", size=9)
            if column == 0:
                axes.set_ylabel(prompts[prompt].replace(" on ", "\non "), size=9)
    figure.savefig(path, dpi=80)
