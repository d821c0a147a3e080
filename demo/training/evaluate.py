"""Measure the demo model: 500 images from captions that it was not trained on.

Run it with ``python dev.py train-demo-model -- --evaluate``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from .. import network, scenes
from ..sampling import GUIDANCE, STEPS, sample
from . import classifier, pictures

CAPTIONS = 500
BATCH = 50


def evaluate(weights: Path, out: Path, steps: int = STEPS, guidance: float = GUIDANCE) -> None:
    """Print the measured fractions; write a sheet of the first images to ``out``."""
    rng = np.random.default_rng(0)
    drawn = [scenes.sample_scene(rng, held_out=True) for _ in range(CAPTIONS)]
    true = [scenes.render(scene) for scene in drawn]
    print(
        f"{CAPTIONS} held-out captions, {steps} Euler steps, guidance {guidance:g}, "
        f"shift {network.SHIFT:g}"
    )
    report("true images (the classifier itself)", true, drawn)
    model = network.load(weights)
    images = []
    for start in range(0, CAPTIONS, BATCH):
        captions = [scene.caption for scene in drawn[start : start + BATCH]]
        drawn_now = sample(model, captions, seed=start, steps=steps, guidance=guidance)
        images += [image.numpy() for image in drawn_now]
        print(f"{len(images)} of {CAPTIONS} sampled", flush=True)
    report("sampled images", images, drawn)
    shown = torch.from_numpy(np.stack(images[:32]))
    captions = [scene.caption for scene in drawn[:32]]
    pictures.sheet(shown, captions, columns=8).save(out / "held_out_sheet.png")


class Verdict(NamedTuple):
    """What an image gets right, judged by its pixels."""

    background: bool
    colors: bool  # all named shape colours are there
    only: bool  # and no other
    counts: bool  # of pieces of each named colour
    shapes: bool  # each piece is the named shape, as many as there should be


def judge(image: np.ndarray, scene: scenes.Scene) -> Verdict:
    """Compare the pixels of an image ``[64, 64, 3]`` with what its caption says."""
    colors = classifier.color_map(image)
    shown = classifier.shape_colors(colors, scene.background)
    named = {placed.color: placed.shape for placed in scene.shapes}
    pieces = {color: classifier.pieces(colors, color) for color in named}
    wanted = Counter(placed.color for placed in scene.shapes)
    counts = all(len(pieces[color]) == wanted[color] for color in named)
    shapes = all(
        classifier.shape_of(mask) == shape
        for color, shape in named.items()
        for mask in pieces[color]
    )
    return Verdict(
        classifier.background_color(colors) == scene.background,
        named.keys() <= shown, shown <= named.keys(), counts, counts and shapes,
    )  # fmt: skip


def report(name: str, images: Sequence[np.ndarray], drawn: Sequence[scenes.Scene]) -> None:
    """Print how many images show what their captions say, in all and by shape."""
    verdicts = [judge(image, scene) for image, scene in zip(images, drawn, strict=True)]
    print(f"{name}: {shares(verdicts)}")
    for shape in scenes.SHAPES:
        some = [
            verdict
            for verdict, scene in zip(verdicts, drawn, strict=True)
            if {placed.shape for placed in scene.shapes} == {shape}
        ]
        print(f"  {shape} alone ({len(some)}): {shares(some)}")


def shares(verdicts: Sequence[Verdict]) -> str:
    """Share that is right, for each field of the verdicts."""
    means = np.mean(np.array(verdicts, dtype=float), axis=0)
    pairs = zip(Verdict._fields, means, strict=True)
    return ", ".join(f"{field} right {share:.1%}" for field, share in pairs)
