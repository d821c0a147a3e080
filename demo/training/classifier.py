"""A plain pixel classifier: which colours and shapes an image of the demo's kind shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from ..scenes import COLORS, SHAPES, signed_distance, tone

BORDER = 3  # pixels: no scene puts a shape there
MIN_PIXELS = 24  # pixels of a colour in one piece that count as a shape


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
    """Colours other than the background's with a piece of at least ``MIN_PIXELS`` inner pixels.

    An inner pixel is one whose four neighbours agree. The blend at a blurred edge has some, too,
    but here and there, not in one piece.
    """
    found = set()
    for index, color in enumerate(COLORS):
        inner = ndimage.binary_erosion(colors == index)
        if color != background and largest(inner).sum() >= MIN_PIXELS:
            found.add(color)
    return found


def labelled(mask: np.ndarray) -> np.ndarray:
    """Numbers of the connected pieces of a mask from 1 on, and 0 beside it."""
    labels = np.zeros(mask.shape, dtype=np.int32)
    ndimage.label(mask, output=labels)
    return labels


def largest(mask: np.ndarray) -> np.ndarray:
    """The largest connected piece of a mask."""
    labels = labelled(mask)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0  # what is not in the mask
    return mask & (labels == sizes.argmax())


def pieces(colors: np.ndarray, color: str) -> list[np.ndarray]:
    """Masks of the connected pieces of a colour with at least ``MIN_PIXELS`` pixels."""
    labels = labelled(colors == list(COLORS).index(color))
    masks = [labels == number for number in range(1, labels.max() + 1)]
    return [mask for mask in masks if mask.sum() >= MIN_PIXELS]


def shape_of(mask: np.ndarray, shapes: Sequence[str] = SHAPES) -> str:
    """The upright shape that covers a mask best, drawn around its centre with its area."""
    y, x = ndimage.center_of_mass(mask)
    rows, columns = np.indices(mask.shape)
    scores = {}
    for shape in shapes:
        radius = math.sqrt(mask.sum() / _AREA[shape])
        drawn = signed_distance(shape, columns - x, rows - y, radius) < 0
        scores[shape] = (mask & drawn).sum() / (mask | drawn).sum()
    return max(scores, key=scores.__getitem__)


# Areas of shapes of radius 1.
_AREA = {
    "circle": math.pi,
    "square": 1.7**2,
    "triangle": 3 * math.sqrt(3) * 0.58**2,
    "ring": math.pi * (1 - 0.52**2),
    "cross": 4 * (2 * 0.98 * 0.32 - 0.32**2),
    "diamond": 2 * 1.1**2,
}
