"""Train the demo model on procedural scenes. Run it with ``python dev.py train-demo-model``.

``training/__init__.py`` has the loop; this file has the data.
"""

from __future__ import annotations

import argparse
import copy
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from .. import network, scenes
from ..autoencoder import PatchAutoencoder
from ..comfyui import use_comfyui
from ..sampling import GUIDANCE, STEPS, sample
from . import CAPTION_DROPOUT, Batch, Task, Training, add_options, pictures, run_training
from .evaluate import evaluate

SHEET_CAPTIONS = (
    "one red circle on plain white background",
    "two yellow triangles on striped blue background",
    "three pink rings on checkered black background",
    "large green cross on dotted orange background",
    "small white diamond on gradient purple background",
    "blue square left of yellow circle on plain pink background",
    "cyan ring above red triangle on gradient black background",
    "black cross left of white diamond on striped green background",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py train-demo-model", description=__doc__)
    add_options(parser, "images", total=14_300_000, lr=2e-3)
    parser.add_argument(
        "--student",
        type=int,
        nargs="?",
        const=0,
        metavar="STEPS",
        help="train a student with guidance baked in, and of so few steps if they are named",
    )
    parser.add_argument("--paths", type=Path, help="folder of the teacher's paths, if not of --out")
    parser.add_argument("--evaluate", action="store_true", help="measure weights instead")
    parser.add_argument("--weights", type=Path, default=network.WEIGHTS, help="what to measure")
    parser.add_argument("--steps", type=int, default=STEPS, help="to measure with")
    parser.add_argument("--guidance", type=float, default=GUIDANCE, help="to measure with")
    options = parser.parse_args()
    use_comfyui(device=options.device)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.evaluate:
        evaluate(options.weights, options.out, options.steps, options.guidance)
    elif options.student is not None:
        from . import few_steps, student  # which take their data from here

        (few_steps if options.student else student).run(options)
    else:
        run(options)


def run(options: argparse.Namespace) -> None:
    """Train from the beginning, or from the checkpoint in ``options.out``."""
    torch.manual_seed(options.seed)
    model = network.DemoNetwork()
    initialize(model)
    task = Task(
        samples="images",
        batch=partial(batch, copy.deepcopy(model.autoencoder), options.seed, options.batch),
        save=network.save,
        sheet=save_sheet,
        weights=network.WEIGHTS.name,
    )
    run_training(Training(model.to(options.device), options.lr), task, options)


def save_sheet(model: network.DemoNetwork, path: Path) -> None:
    """Draw each of the sheet's captions twice."""
    images = sample(model, SHEET_CAPTIONS * 2, seed=0)
    pictures.sheet(images, SHEET_CAPTIONS * 2, columns=8).save(path)


def initialize(model: network.DemoNetwork) -> None:
    """Xavier weights; gates and output start at zero, so that blocks begin as the identity."""
    for name, parameter in model.transformer.named_parameters():
        if parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
    for name, module in model.transformer.named_modules():
        if name.endswith((".lin", "adaLN_modulation.1", "final_layer.linear")):
            nn.init.zeros_(module.get_parameter("weight"))
    nn.init.normal_(model.words.positions, std=0.5)
    rng = np.random.default_rng(0)
    images = np.stack([scenes.render(scenes.sample_scene(rng)) for _ in range(2000)])
    model.autoencoder.fit(torch.from_numpy(images))


def batch(autoencoder: PatchAutoencoder, seed: int, size: int, step: int) -> Batch:
    """Latents, word ids, times and noise of one training step.

    Times are logistic-normal, shifted like the sampler's noise levels.
    """
    rng = np.random.default_rng((seed, step))
    drawn = [scenes.sample_scene(rng) for _ in range(size)]
    images = torch.from_numpy(np.stack([scenes.render(scene) for scene in drawn]))
    captions = ["" if rng.random() < CAPTION_DROPOUT else scene.caption for scene in drawn]
    ids = torch.tensor([scenes.word_ids(caption) for caption in captions])
    normal = torch.from_numpy(rng.standard_normal(size, dtype=np.float32))
    times = network.shifted(normal.sigmoid())
    noise = torch.from_numpy(rng.standard_normal((size, *network.LATENT_SHAPE), dtype=np.float32))
    return Batch(autoencoder.encode(images), ids, times, noise)


if __name__ == "__main__":
    main()
