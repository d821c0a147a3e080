"""A linear autoencoder: 8×8 RGB patches to 48 channels by principal components."""

from __future__ import annotations

import torch
from einops import rearrange
from torch import Tensor, nn

PATCH = 8
CHANNELS = 48
SCALE_POWER = 0.6  # channels are divided by std**0.6: strong components stay the stronger ones


class PatchAutoencoder(nn.Module):
    """Images ``[B, H, W, 3]`` in [0, 1] to latents ``[B, 48, H/8, W/8]`` and back."""

    def __init__(self) -> None:
        super().__init__()
        values = 3 * PATCH * PATCH
        self.register_buffer("mean", torch.zeros(values))
        self.register_buffer("basis", torch.zeros(values, CHANNELS))  # orthonormal columns
        self.register_buffer("scale", torch.ones(CHANNELS))

    def fit(self, images: Tensor) -> None:
        """Set the basis from training images; latents then have mean 0 and mean variance 1."""
        patches = _to_patches(images).flatten(0, -2).double()
        mean = patches.mean(0)
        variance, vectors = torch.linalg.eigh(torch.cov((patches - mean).T))
        variance, vectors = variance.flip(0)[:CHANNELS], vectors.flip(1)[:, :CHANNELS]
        scale = variance.sqrt() ** SCALE_POWER
        scale = scale * (variance / scale**2).mean().sqrt()
        self.mean.copy_(mean)
        self.basis.copy_(vectors)
        self.scale.copy_(scale)

    def encode(self, images: Tensor) -> Tensor:
        """Latents of images whose sides are multiples of 8."""
        latents = (_to_patches(images) - self.mean) @ self.basis / self.scale
        return rearrange(latents, "b h w c -> b c h w")

    def decode(self, latents: Tensor) -> Tensor:
        """Images of latents, clipped to [0, 1]."""
        patches = rearrange(latents, "b c h w -> b h w c") * self.scale @ self.basis.T + self.mean
        images = rearrange(patches, "b h w (p q c) -> b (h p) (w q) c", p=PATCH, q=PATCH)
        return images.clamp(0, 1)


def _to_patches(images: Tensor) -> Tensor:
    return rearrange(images, "b (h p) (w q) c -> b h w (p q c)", p=PATCH, q=PATCH)
