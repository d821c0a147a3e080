"""A plain pixel classifier of clips: which colours are there, which shapes, and how they move.

It looks at five frames. A shape's pixels are those of its colour, less single ones; its place is
their centroid, its size their number, its angle the phase of their third or fourth circular moment
(a triangle looks alike after a third of a turn, a square and a cross after a quarter).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import ndimage

from ..scenes import COLORS
from ..training import classifier
from ..training.classifier import background_color, color_map, largest, shape_colors
from .scenes import DIRECTIONS, SHAPES

FRAMES = (0, 3, 6, 9, 12)
MIN_MOVE = 8.0  # pixels between first and last frame; the training clips' shapes move 24 to 30
MIN_GROWTH = 1.6  # ratio of radii; the training clips' shapes grow by 1.9 to 3.1
MIN_TURN = math.radians(40)  # the training clips' shapes turn by 90 degrees
SYMMETRY = {"square": 4, "triangle": 3, "cross": 4}  # turns after which a shape looks alike


def color_maps(clip: np.ndarray) -> np.ndarray:
    """Indices of the nearest colours ``[5, H, W]`` in the frames of a clip that are looked at."""
    return np.stack([color_map(clip[frame]) for frame in FRAMES])


def background(maps: np.ndarray) -> str:
    """The most frequent colour of the border in most frames."""
    found = [background_color(colors) for colors in maps]
    return max(sorted(set(found)), key=found.count)


def present(maps: np.ndarray, behind: str) -> set[str]:
    """Colours of shapes that are there in every frame."""
    return set.intersection(*(shape_colors(colors, behind) for colors in maps))


def invented(maps: np.ndarray, behind: str) -> set[str]:
    """Colours of shapes that are there in at least three of the frames."""
    found = [shape_colors(colors, behind) for colors in maps]
    return {color for color in COLORS if sum(color in colors for colors in found) >= 3}


def motion(maps: np.ndarray, color: str, shape: str) -> str:
    """The caption's word for how the shape of a colour moves; *rests* if it does nothing.

    ``shape`` says only after which turn it looks alike.
    """
    masks = [_opened(colors == list(COLORS).index(color)) for colors in maps]
    if not all(mask.any() for mask in masks):
        return "rests"
    centres = np.array([ndimage.center_of_mass(mask)[::-1] for mask in masks])  # x, y
    dx, dy = centres[-1] - centres[0]
    if max(abs(dx), abs(dy)) >= MIN_MOVE:
        return max(DIRECTIONS, key=lambda name: dx * DIRECTIONS[name][0] + dy * DIRECTIONS[name][1])
    growth = math.sqrt(masks[-1].sum() / masks[0].sum())
    if growth >= MIN_GROWTH:
        return "grows"
    if growth <= 1 / MIN_GROWTH:
        return "shrinks"
    if shape in SYMMETRY and turned(masks, SYMMETRY[shape]) >= MIN_TURN:
        return "turns"
    return "rests"


def turned(masks: list[np.ndarray], symmetry: int) -> float:
    """The angle in radians by which masks turn clockwise, added up from frame to frame."""
    phases = np.array([_phase(mask, symmetry) for mask in masks])
    return float(np.angle(np.exp(1j * np.diff(phases))).sum()) / symmetry


def _phase(mask: np.ndarray, symmetry: int) -> float:
    y, x = np.nonzero(mask)
    z = (x - x.mean()) + 1j * (y - y.mean())
    return float(np.angle((z**symmetry).sum()))


def shape_of(maps: np.ndarray, color: str) -> str:
    """The shape of a colour in the first frame, where all stand upright; empty without pixels."""
    mask = largest(maps[0] == list(COLORS).index(color))
    return classifier.shape_of(mask, SHAPES) if mask.any() else ""


def _opened(mask: np.ndarray) -> np.ndarray:
    """The largest piece, without what is thinner than two pixels."""
    return largest(np.asarray(ndimage.binary_opening(mask, np.ones((2, 2)))))
