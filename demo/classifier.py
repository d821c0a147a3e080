"""A plain pixel classifier: which colours does an image of the demo's kind show, and where."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from .scenes import COLORS, tone

BORDER = 3  # pixels: no scene puts a shape there
MIN_PIXELS = 24  # inner pixels of a colour that count as a shape; antialiased edges have none


def color_map(image: np.ndarray) -> np.ndarray:
    """The index of the nearest colour for each pixel of an image ``[H, W, 3]`` in [0, 1].

    Each colour is represented by the line from its first to its second tone, in five points.
    """
    points = np.stack([[tone(color, d) for d in np.linspace(0, 1, 5)] for color in COLORS])
    # Squared distances less the pixel's own square, which is the same for all: [H, W, colours, 5].
    distance = (points**2).sum(-1) - 2 * np.tensordot(image, points, (-1, -1))
    return distance.min(-1).argmin(-1)


def background_color(colors: np.ndarray) -> str:
    """The most frequent colour of the border."""
    inner = np.zeros(colors.shape, dtype=bool)
    inner[BORDER:-BORDER, BORDER:-BORDER] = True
    return list(COLORS)[np.bincount(colors[~inner], minlength=len(COLORS)).argmax()]


def shape_colors(colors: np.ndarray, background: str) -> set[str]:
    """Colours other than the background's with at least ``MIN_PIXELS`` inner pixels."""
    found = set()
    for index, color in enumerate(COLORS):
        pixels = colors == index
        if color == background or pixels.sum() < MIN_PIXELS:
            continue
        inner = ndimage.binary_erosion(pixels)  # a pixel whose four neighbours agree
        if inner.sum() >= MIN_PIXELS:
            found.add(color)
    return found
