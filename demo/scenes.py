"""Procedural training scenes: coloured shapes on patterned backgrounds, with captions.

A caption has one of three forms, over a closed vocabulary:

    two red circles on striped blue background          (count)
    large green ring on plain white background          (size)
    red cross left of pink diamond on dotted black background   (relation)

Images are ``[64, 64, 3]`` float32 in [0, 1], drawn from signed distances, so edges are antialiased.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np

from .words import Vocabulary

SIZE = 64  # image side in pixels
MAX_WORDS = 12

COLORS: dict[str, tuple[int, int, int]] = {
    "red": (214, 36, 40),
    "orange": (247, 140, 24),
    "yellow": (250, 222, 50),
    "green": (40, 150, 62),
    "cyan": (56, 204, 214),
    "blue": (36, 72, 206),
    "purple": (124, 48, 168),
    "pink": (250, 152, 192),
    "white": (246, 246, 246),
    "black": (22, 22, 26),
}
SHAPES = ("circle", "square", "triangle", "ring", "cross", "diamond")
PLURALS = ("circles", "squares", "triangles", "rings", "crosses", "diamonds")
COUNTS = ("one", "two", "three")
SIZES = ("small", "large")
RELATIONS = ("left of", "above")
PATTERNS = ("plain", "gradient", "striped", "dotted", "checkered")

WORDS = Vocabulary(
    (
        *COLORS, *SHAPES, *PLURALS, *COUNTS, *SIZES,
        "left", "of", "above", "on", "background", *PATTERNS,
    ),
    MAX_WORDS,
    example="two red circles on striped blue background",
)  # fmt: skip
VOCABULARY = WORDS.words

_PIXEL = (np.mgrid[0:SIZE, 0:SIZE] + 0.5).astype(np.float32)  # [2, 64, 64]: y, x of pixel centres


@dataclass(frozen=True)
class PlacedShape:
    """A shape of radius ``radius`` pixels around ``(x, y)``."""

    shape: str
    color: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Scene:
    """Content of a caption, plus all that it leaves open (places, sizes, phase of the pattern)."""

    caption: str
    background: str
    pattern: str
    phase: tuple[float, float]
    shapes: tuple[PlacedShape, ...]


def is_held_out(caption: str) -> bool:
    """Whether a caption is among the 2 % that training never sees (decided by its hash)."""
    return hashlib.sha256(caption.encode()).digest()[0] < 5


def sample_scene(rng: np.random.Generator, *, held_out: bool = False) -> Scene:
    """A random scene from the training captions, or from the held-out ones."""
    while True:
        scene = _draw_scene(rng)
        if is_held_out(scene.caption) == held_out:
            return scene


def _draw_scene(rng: np.random.Generator) -> Scene:
    background, first, second = (list(COLORS)[i] for i in rng.permutation(len(COLORS))[:3])
    pattern = PATTERNS[rng.integers(len(PATTERNS))]
    kind_a, kind_b = rng.integers(len(SHAPES), size=2)
    jitter = rng.uniform(-1, 1, size=8)
    form = rng.integers(3)
    if form == 0:
        count = int(rng.integers(3)) + 1
        words = f"{COUNTS[count - 1]} {first} {(SHAPES if count == 1 else PLURALS)[kind_a]}"
        radius = (15.0, 11.5, 9.5)[count - 1] + jitter[0] * (2.0, 1.0, 0.7)[count - 1]
        places = _ring_of(count, math.pi * jitter[1], jitter[2:4])
        shapes = tuple(PlacedShape(SHAPES[kind_a], first, x, y, radius) for x, y in places)
    elif form == 1:
        size = int(rng.integers(2))
        words = f"{SIZES[size]} {first} {SHAPES[kind_a]}"
        radius = (8.5, 23.0)[size] + jitter[0]
        reach = (12.0, 4.0)[size]
        x, y = 32 + reach * jitter[1], 32 + reach * jitter[2]
        shapes = (PlacedShape(SHAPES[kind_a], first, x, y, radius),)
    else:
        relation = int(rng.integers(2))
        words = f"{first} {SHAPES[kind_a]} {RELATIONS[relation]} {second} {SHAPES[kind_b]}"
        near, far = 17.5 + 1.5 * jitter[0], 46.5 + 1.5 * jitter[1]  # along the relation's axis
        across_a, across_b = 32 + 6 * jitter[2], 32 + 6 * jitter[3]
        a, b = (near, across_a), (far, across_b)
        if relation == 1:
            a, b = (across_a, near), (across_b, far)
        shapes = (
            PlacedShape(SHAPES[kind_a], first, *a, 11.5 + jitter[4]),
            PlacedShape(SHAPES[kind_b], second, *b, 11.5 + jitter[5]),
        )
    caption = f"{words} on {pattern} {background} background"
    return Scene(caption, background, pattern, (jitter[6], jitter[7]), shapes)


def _ring_of(count: int, angle: float, jitter: np.ndarray) -> list[tuple[float, float]]:
    """Centres of ``count`` shapes, evenly around the middle of the image."""
    if count == 1:
        return [(32 + 7 * jitter[0], 32 + 7 * jitter[1])]
    reach = 15.5 if count == 2 else 17.5
    turns = [angle + 2 * math.pi * i / count for i in range(count)]
    x, y = 32 + 2.5 * jitter[0], 32 + 2.5 * jitter[1]
    return [(x + reach * math.cos(t), y + reach * math.sin(t)) for t in turns]


def render(scene: Scene) -> np.ndarray:
    """The scene as ``[64, 64, 3]`` float32 in [0, 1]."""
    y, x = _PIXEL
    image = _background(scene)
    for placed in scene.shapes:
        distance = signed_distance(placed.shape, x - placed.x, y - placed.y, placed.radius)
        cover = np.clip(0.5 - distance, 0, 1)[..., None]  # one pixel of antialiasing
        image += cover * (tone(placed.color, 0) - image)
    return image


def tone(color: str, depth: float) -> np.ndarray:
    """RGB float32 in [0, 1] of a colour; ``depth`` 0 is the colour itself, 1 its second tone.

    The second tone draws patterns: darker, except that black becomes a dark grey.
    """
    base = np.array(COLORS[color], dtype=np.float32) / 255
    second = base + 0.22 * (1 - base) if color == "black" else 0.76 * base
    return base + np.float32(depth) * (second - base)


def _background(scene: Scene) -> np.ndarray:
    y, x = _PIXEL
    shift_x, shift_y = 8 * scene.phase[0], 8 * scene.phase[1]
    if scene.pattern == "plain":
        depth = np.zeros_like(x)
    elif scene.pattern == "gradient":
        depth = y / SIZE
    elif scene.pattern == "striped":  # vertical stripes, 8 pixels wide
        depth = np.clip(0.5 + 4 - np.abs((x + shift_x) % 16 - 8), 0, 1)
    elif scene.pattern == "dotted":  # dots of radius 2.6 every 10 pixels
        u, v = (x + shift_x) % 10 - 5, (y + shift_y) % 10 - 5
        depth = np.clip(0.5 + 2.6 - np.hypot(u, v), 0, 1)
    else:  # checkered, 8-pixel fields
        u = np.clip(4.5 - np.abs((x + shift_x) % 16 - 8), 0, 1)
        v = np.clip(4.5 - np.abs((y + shift_y) % 16 - 8), 0, 1)
        depth = u + v - 2 * u * v
    light, dark = tone(scene.background, 0), tone(scene.background, 1)
    return light + depth[..., None].astype(np.float32) * (dark - light)


def signed_distance(
    shape: str, x: np.ndarray, y: np.ndarray, radius: float | np.ndarray
) -> np.ndarray:
    """Distance in pixels to the outline, negative inside; ``y`` points down."""
    if shape == "circle":
        return np.hypot(x, y) - radius
    if shape == "ring":
        return np.abs(np.hypot(x, y) - 0.76 * radius) - 0.24 * radius
    if shape == "square":
        return np.maximum(np.abs(x), np.abs(y)) - 0.85 * radius
    if shape == "diamond":
        return (np.abs(x) + np.abs(y) - 1.1 * radius) / math.sqrt(2)
    if shape == "cross":
        long, wide = 0.98 * radius, 0.32 * radius
        bar = np.maximum(np.abs(x) - long, np.abs(y) - wide)
        return np.minimum(bar, np.maximum(np.abs(x) - wide, np.abs(y) - long))
    # An equilateral triangle, point up: three half planes at the same distance from the centre.
    slope = math.sqrt(3) / 2
    sides = np.maximum(np.abs(x) * slope - y * 0.5, y)
    return sides - 0.58 * radius


def words_of(text: str) -> list[str]:
    """The words of a prompt, as ``Vocabulary.words_of``."""
    return WORDS.words_of(text)


def word_ids(text: str) -> list[int]:
    """The numbers of a prompt's words, as ``Vocabulary.ids``."""
    return WORDS.ids(text)
