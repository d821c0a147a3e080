"""Plain Euler sampling of the demo network, without ComfyUI: for training sheets and evaluation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from . import network, scenes

GUIDANCE = 5.0
STEPS = 50


def sigmas(steps: int) -> Tensor:
    """``[steps + 1]`` noise levels from 1 to 0: ComfyUI's *simple* scheduler."""
    return network.shifted(torch.linspace(1, 0, steps + 1))


@torch.no_grad()
def sample(model, captions: Sequence[str], *, seed: int, steps: int = STEPS) -> Tensor:
    """Images ``[B, 64, 64, 3]`` in [0, 1] for captions, with classifier-free guidance."""
    generator = torch.Generator().manual_seed(seed)
    latents = torch.randn(len(captions), *network.LATENT_SHAPE, generator=generator)
    ids = torch.tensor([scenes.word_ids(text) for text in (*captions, *[""] * len(captions))])
    for sigma, sigma_next in itertools.pairwise(sigmas(steps)):
        both = model(latents.repeat(2, 1, 1, 1), sigma.expand(len(ids)), ids)
        positive, negative = both.chunk(2)
        guided = negative + GUIDANCE * (positive - negative)
        latents = latents + (sigma_next - sigma) * guided
    return model.autoencoder.decode(latents)
