"""Train the demo's video model on procedural clips: ``python dev.py train-demo-video``."""

from __future__ import annotations

import argparse
import copy
from functools import partial
from pathlib import Path

import numpy as np
import torch
from scipy import special
from torch import Tensor, nn

from ..comfyui import use_comfyui
from ..sampling import GUIDANCE
from ..training import CAPTION_DROPOUT, Batch, Task, Training, add_options, run_training
from . import network, scenes
from .autoencoder import VideoAutoencoder
from .evaluate import CAPTIONS, evaluate
from .pictures import save_sheet


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py train-demo-video", description=__doc__)
    add_options(parser, "clips", total=450_000, lr=3e-3)
    parser.add_argument(
        "--expert",
        choices=network.EXPERTS,
        help="fine-tune a copy of the base model on noise levels above (high) or below (low) "
        f"{network.BOUNDARY:g}; give it a folder, a smaller rate and fewer clips of its own",
    )
    parser.add_argument(
        "--base", type=Path, default=network.WEIGHTS, help="weights from which an expert starts"
    )
    parser.add_argument("--evaluate", action="store_true", help="measure weights instead")
    parser.add_argument(
        "--weights",
        type=Path,
        nargs="+",
        default=[network.WEIGHTS],
        help="what to measure: one model, or the high-noise and the low-noise expert",
    )
    parser.add_argument("--captions", type=int, default=CAPTIONS, help="clips that are measured")
    parser.add_argument("--guidance", type=float, default=GUIDANCE, help="CFG of these clips")
    options = parser.parse_args()
    use_comfyui(device=options.device)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.evaluate:
        models = [network.load(path) for path in options.weights]
        model = models[0] if len(models) == 1 else network.Experts(*models)
        evaluate(model, options.out, captions=options.captions, guidance=options.guidance)
    else:
        run(options)


def run(options: argparse.Namespace) -> None:
    """Train from the beginning, or from the checkpoint in ``options.out``."""
    torch.manual_seed(options.seed)
    if options.expert:
        model = network.load(options.base).requires_grad_(True).train()
        model.words.requires_grad_(False)  # one text encoder serves both experts
        noise_range, weights = network.EXPERTS[options.expert], network.WEIGHTS_OF[options.expert]
    else:
        model = network.VideoNetwork()
        initialize(model)
        noise_range, weights = (0.0, 1.0), network.WEIGHTS
    task = Task(
        samples="clips",
        batch=partial(
            batch,
            copy.deepcopy(model.autoencoder),
            options.seed,
            options.batch,
            noise_range=noise_range,
        ),
        save=network.save,
        sheet=save_sheet,
        weights=weights.name,
        sheets_every=2,
    )
    with network.gradients():
        run_training(Training(model.to(options.device), options.lr), task, options)


def initialize(model: network.VideoNetwork, clips: int = 500) -> None:
    """Xavier weights; gates and output start at zero, so that blocks begin as the identity.

    The autoencoder is fitted to ``clips`` clips.
    """
    for name, parameter in model.transformer.named_parameters():
        if name.endswith("modulation") or name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter.flatten(1))
    for name, module in model.transformer.named_modules():
        if name.endswith(("time_projection.1", "cross_attn.o", "head.head")):
            nn.init.zeros_(module.get_parameter("weight"))
    nn.init.normal_(model.words.positions, std=0.5)
    rng = np.random.default_rng(0)
    shown = np.stack([scenes.render(scenes.sample_clip(rng)) for _ in range(clips)])
    model.autoencoder.fit(torch.from_numpy(shown))


def batch(
    autoencoder: VideoAutoencoder,
    seed: int,
    size: int,
    step: int,
    noise_range: tuple[float, float] = (0.0, 1.0),
) -> Batch:
    """Latents, word ids, times and noise of one training step."""
    rng = np.random.default_rng((seed, step))
    latents, ids = [], []
    for _ in range(size):  # one clip at a time: it stays in the processor's cache
        clip = scenes.sample_clip(rng)
        latents.append(autoencoder.encode(torch.from_numpy(scenes.render(clip))[None]))
        caption = "" if rng.random() < CAPTION_DROPOUT else clip.caption
        ids.append(scenes.VOCABULARY.ids(caption))
    times = draw_times(rng, size, noise_range)
    noise = torch.from_numpy(rng.standard_normal((size, *network.LATENT_SHAPE), dtype=np.float32))
    return Batch(torch.cat(latents), torch.tensor(ids), times, noise)


def draw_times(rng: np.random.Generator, size: int, noise_range: tuple[float, float]) -> Tensor:
    """Noise levels within a range: logistic-normal, shifted like the sampler's noise levels."""
    bounds = np.clip(noise_range, 1e-9, 1 - 1e-9)
    shares = special.ndtr(special.logit(bounds / (network.SHIFT - (network.SHIFT - 1) * bounds)))
    normal = special.ndtri(rng.uniform(*shares, size=size)).astype(np.float32)
    return network.shifted(torch.from_numpy(normal).sigmoid())


if __name__ == "__main__":
    main()
