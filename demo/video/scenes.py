"""Procedural training clips: coloured shapes in motion on plain or shaded backgrounds.

A caption has one of three forms, over a closed vocabulary:

    red circle moves left on plain blue background                   (one shape moves)
    green cross turns on gradient white background                   (one shape changes)
    red cross moves up past pink square on plain black background    (two shapes pass each other)

Shapes turn clockwise. Of a pair, the second moves the opposite way. Clips are ``[13, 64, 64, 3]``
float32 in [0, 1], drawn as the still scenes of ``demo/scenes.py`` are, in the same colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..scenes import COLORS, SIZE, is_held_out, signed_distance, tone
from ..words import Vocabulary

FRAMES = 13
SHAPES = ("circle", "square", "triangle", "cross")
DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}  # y points down
OPPOSITE = {"left": "right", "right": "left", "up": "down", "down": "up"}
CHANGES = ("grows", "shrinks", "turns")
PATTERNS = ("plain", "gradient")
TURN = math.pi / 2  # how far a shape turns in a clip
MAX_WORDS = 12

VOCABULARY = Vocabulary(
    (*COLORS, *SHAPES, "moves", *DIRECTIONS, "past", *CHANGES, "on", "background", *PATTERNS),
    MAX_WORDS,
    example="red circle moves left on plain blue background",
)


@dataclass(frozen=True)
class Pose:
    """Where a shape is: centre and radius in pixels, angle in radians, clockwise."""

    x: float
    y: float
    radius: float
    angle: float = 0.0


@dataclass(frozen=True)
class Mover:
    """A shape that goes evenly from one pose to another; ``motion`` is the caption's word."""

    shape: str
    color: str
    motion: str
    start: Pose
    end: Pose


@dataclass(frozen=True)
class Clip:
    """Content of a caption, plus all that it leaves open (places, sizes)."""

    caption: str
    background: str
    pattern: str
    movers: tuple[Mover, ...]


def sample_clip(rng: np.random.Generator, *, held_out: bool = False) -> Clip:
    """A random clip of the training captions, or of the 2 % that training never sees."""
    while True:
        clip = _draw_clip(rng)
        if is_held_out(clip.caption) == held_out:
            return clip


def _draw_clip(rng: np.random.Generator) -> Clip:
    background, first, second = (list(COLORS)[i] for i in rng.permutation(len(COLORS))[:3])
    pattern = PATTERNS[rng.integers(len(PATTERNS))]
    kind_a, kind_b = (SHAPES[i] for i in rng.integers(len(SHAPES), size=2))
    direction = list(DIRECTIONS)[rng.integers(len(DIRECTIONS))]
    jitter = rng.uniform(-1, 1, size=6).tolist()  # numpy's own scalars would make images float64
    form = rng.choice(3, p=(0.35, 0.35, 0.3))
    if form == 0:
        words = f"{first} {kind_a} moves {direction}"
        travel = (32 + 2 * jitter[0], 13 + jitter[1], 32 + 9 * jitter[2])
        movers = (_travelling(kind_a, first, direction, travel, 13 + 1.5 * jitter[3]),)
    elif form == 1:
        change = CHANGES[rng.choice(3, p=(0.25, 0.25, 0.5))]  # a turn is the hardest to learn
        if kind_a == "circle" and change == "turns":  # nothing would be seen to move
            change = CHANGES[rng.integers(2)]
        words = f"{first} {kind_a} {change}"
        movers = (_changing(kind_a, first, change, jitter),)
    else:
        words = f"{first} {kind_a} moves {direction} past {second} {kind_b}"
        side = 14 * (1 if rng.integers(2) else -1)  # either may be on either side
        middle, half = 32 + jitter[0], 14 + jitter[1]
        travel_a = (middle, half, 32 - side + jitter[2])
        travel_b = (middle, half, 32 + side + jitter[3])
        movers = (
            _travelling(kind_a, first, direction, travel_a, 11.5 + 0.7 * jitter[4]),
            _travelling(kind_b, second, OPPOSITE[direction], travel_b, 11.5 + 0.7 * jitter[5]),
        )
    return Clip(f"{words} on {pattern} {background} background", background, pattern, movers)


def _travelling(
    shape: str, color: str, direction: str, travel: tuple[float, float, float], radius: float
) -> Mover:
    """A shape that moves; ``travel`` is the middle and half the length of its way, and its lane."""
    middle, half, lane = travel
    dx, dy = DIRECTIONS[direction]
    ends = []
    for sign in (-1, 1):
        along = middle + sign * (dx + dy) * half
        ends.append(Pose(*((along, lane) if dx else (lane, along)), radius))
    return Mover(shape, color, direction, *ends)


def _changing(shape: str, color: str, change: str, jitter: list[float]) -> Mover:
    x, y = 32 + 6 * jitter[0], 32 + 6 * jitter[1]
    if change == "turns":
        radius, angle = 14 + 2 * jitter[2], 0.2 * jitter[3]
        start, end = Pose(x, y, radius, angle), Pose(x, y, radius, angle + TURN)
    else:
        start, end = Pose(x, y, 7.5 + jitter[2]), Pose(x, y, 18 + 2 * jitter[3])
        if change == "shrinks":
            start, end = end, start
    return Mover(shape, color, change, start, end)


def render(clip: Clip, frames: int = FRAMES) -> np.ndarray:
    """The clip as ``[frames, 64, 64, 3]`` float32 in [0, 1]."""
    pixel = np.arange(SIZE, dtype=np.float32) + 0.5
    depth = pixel / SIZE if clip.pattern == "gradient" else np.zeros_like(pixel)
    light, dark = tone(clip.background, 0), tone(clip.background, 1)
    rows = light + depth[:, None] * (dark - light)
    images = np.broadcast_to(rows[:, None], (frames, SIZE, SIZE, 3)).copy()
    for mover in clip.movers:
        _draw(images, mover, pixel)
    return images


def _draw(images: np.ndarray, mover: Mover, pixel: np.ndarray) -> None:
    """Paint a mover over the frames, within the box that it stays in."""
    share = np.linspace(0, 1, len(images), dtype=np.float32)[:, None, None]
    start, end = mover.start, mover.end
    x, y, radius, angle = (
        a + share * (b - a)
        for a, b in (
            (start.x, end.x),
            (start.y, end.y),
            (start.radius, end.radius),
            (start.angle, end.angle),
        )
    )
    reach = 1.3 * max(start.radius, end.radius)
    columns, rows = (
        slice(max(0, int(min(a, b) - reach)), int(max(a, b) + reach) + 2)
        for a, b in ((start.x, end.x), (start.y, end.y))
    )
    u, v = pixel[columns] - x, pixel[rows, None] - y
    if start.angle != end.angle or start.angle:
        cos, sin = np.cos(angle), np.sin(angle)
        u, v = cos * u + sin * v, cos * v - sin * u
    cover = np.clip(0.5 - signed_distance(mover.shape, u, v, radius), 0, 1)
    for channel, value in enumerate(tone(mover.color, 0)):  # faster than all three at once
        box = images[:, rows, columns, channel]  # a view
        box += cover * (value - box)
