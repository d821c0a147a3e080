"""A linear autoencoder: 8×8 RGB patches to 48 channels by principal components."""

from __future__ import annotations

import torch
from einops import rearrange
from torch import Tensor, nn

PATCH = 8
CHANNELS = 48
SCALE_POWER = 0.6  # channels are divided by std**0.6: strong components stay the stronger ones


class PrincipalComponents(nn.Module):
    """Patches ``[..., values]`` to ``[..., channels]`` and back."""

    mean: Tensor
    basis: Tensor
    scale: Tensor

    def __init__(self, values: int, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(values))
        self.register_buffer("basis", torch.zeros(values, channels))  # orthonormal columns
        self.register_buffer("scale", torch.ones(channels))

    def fit_patches(self, patches: Tensor) -> None:
        """Set the basis from patches; latents then have mean 0 and mean variance 1."""
        channels = self.basis.shape[1]
        patches = patches.flatten(0, -2).double()
        mean = patches.mean(0)
        variance, vectors = torch.linalg.eigh(torch.cov((patches - mean).T))
        variance, vectors = variance.flip(0)[:channels], vectors.flip(1)[:, :channels]
        scale = variance.sqrt() ** SCALE_POWER
        scale = scale * (variance / scale**2).mean().sqrt()
        self.mean.copy_(mean)
        self.basis.copy_(vectors)
        self.scale.copy_(scale)

    def encode_patches(self, patches: Tensor) -> Tensor:
        """Latents of patches."""
        return (patches - self.mean) @ self.basis / self.scale

    def decode_patches(self, latents: Tensor) -> Tensor:
        """The patches that latents stand for, not clipped."""
        return latents * self.scale @ self.basis.T + self.mean


class PatchAutoencoder(PrincipalComponents):
    """Images ``[B, H, W, 3]`` in [0, 1] to latents ``[B, 48, H/8, W/8]`` and back."""

    def __init__(self) -> None:
        super().__init__(3 * PATCH * PATCH, CHANNELS)

    def fit(self, images: Tensor) -> None:
        """Set the basis from training images."""
        self.fit_patches(_to_patches(images))

    def encode(self, images: Tensor) -> Tensor:
        """Latents of images whose sides are multiples of 8."""
        return rearrange(self.encode_patches(_to_patches(images)), "b h w c -> b c h w")

    def decode(self, latents: Tensor) -> Tensor:
        """Images of latents, clipped to [0, 1]."""
        patches = self.decode_patches(rearrange(latents, "b c h w -> b h w c"))
        images = rearrange(patches, "b h w (p q c) -> b (h p) (w q) c", p=PATCH, q=PATCH)
        return images.clamp(0, 1)


def _to_patches(images: Tensor) -> Tensor:
    return rearrange(images, "b (h p) (w q) c -> b h w (p q c)", p=PATCH, q=PATCH)
