"""Plain Euler sampling of the demo networks without ComfyUI, for training and evaluation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from . import network

GUIDANCE = 5.0
STEPS = 50


def sigmas(steps: int, shift: float = network.SHIFT) -> Tensor:
    """``[steps + 1]`` noise levels from 1 to 0: ComfyUI's *simple* scheduler."""
    levels = torch.linspace(1, 0, steps + 1)
    return shift * levels / (1 + (shift - 1) * levels)


@torch.no_grad()
def sample(
    model,
    captions: Sequence[str],
    *,
    seed: int,
    steps: int = STEPS,
    guidance: float = GUIDANCE,
) -> Tensor:
    """What the model draws for captions, in [0, 1], with classifier-free guidance.

    Images ``[B, 64, 64, 3]`` or clips ``[B, 13, 64, 64, 3]``.
    """
    device = next(model.autoencoder.buffers()).device
    generator = torch.Generator().manual_seed(seed)
    latents = torch.randn(len(captions), *model.latent_shape, generator=generator).to(device)
    texts = (*captions, *[""] * len(captions))
    ids = torch.tensor([model.vocabulary.ids(text) for text in texts], device=device)
    for sigma, sigma_next in itertools.pairwise(sigmas(steps, model.shift).to(device)):
        both = model(torch.cat((latents, latents)), sigma.expand(len(ids)), ids)
        positive, negative = both.chunk(2)
        guided = negative + guidance * (positive - negative)
        latents = latents + (sigma_next - sigma) * guided
    return model.autoencoder.decode(latents).cpu()
