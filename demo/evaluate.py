"""Measure the demo model: colours of 500 images from captions it was not trained on.

Run it with ``python dev.py train-demo-model -- --evaluate``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from . import classifier, network, pictures, scenes
from .sampling import GUIDANCE, STEPS, sample

CAPTIONS = 500
BATCH = 50


def evaluate(weights: Path, out: Path) -> None:
    """Print the measured fractions; write a sheet of the first images to ``out``."""
    rng = np.random.default_rng(0)
    drawn = [scenes.sample_scene(rng, held_out=True) for _ in range(CAPTIONS)]
    true = [scenes.render(scene) for scene in drawn]
    print(
        f"{CAPTIONS} held-out captions, {STEPS} Euler steps, guidance {GUIDANCE:g}, "
        f"shift {network.SHIFT:g}"
    )
    report("true images (the classifier itself)", true, drawn)
    model = network.load(weights)
    images = []
    for start in range(0, CAPTIONS, BATCH):
        captions = [scene.caption for scene in drawn[start : start + BATCH]]
        images += [image.numpy() for image in sample(model, captions, seed=start)]
        print(f"{len(images)} of {CAPTIONS} sampled", flush=True)
    report("sampled images", images, drawn)
    shown = torch.from_numpy(np.stack(images[:32]))
    captions = [scene.caption for scene in drawn[:32]]
    pictures.sheet(shown, captions, columns=8).save(out / "held_out_sheet.png")


def report(name: str, images: list[np.ndarray], drawn: list[scenes.Scene]) -> None:
    """Print how many images show the background and the shape colours of their scene."""
    backgrounds = shapes = others = 0
    for image, scene in zip(images, drawn, strict=True):
        colors = classifier.color_map(image)
        backgrounds += classifier.background_color(colors) == scene.background
        found = classifier.shape_colors(colors, scene.background)
        named = {placed.color for placed in scene.shapes}
        shapes += named <= found
        others += bool(found - named)
    total = len(images)
    print(
        f"{name}: background colour right {backgrounds / total:.1%}, "
        f"all named shape colours present {shapes / total:.1%}, "
        f"some other colour present too {others / total:.1%}"
    )
