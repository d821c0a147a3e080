"""Plain Euler sampling of the demo networks without ComfyUI, for training and evaluation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from . import network

GUIDANCE = 5.0
STEPS = 50


def sigmas(steps: int, shift: float = network.SHIFT) -> Tensor:
    """``[steps + 1]`` noise levels from 1 to 0: ComfyUI's *simple* scheduler."""
    levels = torch.linspace(1, 0, steps + 1)
    return shift * levels / (1 + (shift - 1) * levels)


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
    *_, latents = trajectory(model, captions, seed=seed, steps=steps, guidance=guidance)
    return model.autoencoder.decode(latents).cpu()


@torch.no_grad()
def trajectory(
    model, captions: Sequence[str], *, seed: int, steps: int = STEPS, guidance: float = GUIDANCE
) -> Iterator[Tensor]:
    """The latents ``[B, ...]`` of a run at each of its noise levels, from noise to image.

    At guidance 1 the negative prompt is not evaluated, as in ComfyUI.
    """
    device = next(model.autoencoder.buffers()).device
    generator = torch.Generator().manual_seed(seed)
    latents = torch.randn(len(captions), *model.latent_shape, generator=generator).to(device)
    branches = 1 if guidance == 1 else 2
    texts = (*captions, *[""] * len(captions))[: branches * len(captions)]
    ids = torch.tensor([model.vocabulary.ids(text) for text in texts], device=device)
    yield latents
    for sigma, sigma_next in itertools.pairwise(sigmas(steps, model.shift).to(device)):
        velocity = model(
            latents.repeat(branches, *[1] * (latents.ndim - 1)), sigma.expand(len(ids)), ids
        )
        positive, *negative = velocity.float().chunk(branches)
        for other in negative:
            positive = other + guidance * (positive - other)
        latents = latents + (sigma_next - sigma) * positive
        yield latents
