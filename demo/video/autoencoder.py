"""A linear autoencoder over space and time, laid out as Wan's: 1 + 4 n frames to 1 + n latents.

The first latent is the first frame alone; each further one holds four frames. Both kinds have a
basis of their own, by principal components of training clips.
"""

from __future__ import annotations

import torch
from einops import rearrange
from torch import Tensor, nn

from ..autoencoder import PATCH, PrincipalComponents

CHANNELS = 32
STRIDE = 4  # frames in a latent after the first


class VideoAutoencoder(nn.Module):
    """Clips ``[B, 1 + 4n, H, W, 3]`` in [0, 1] to latents ``[B, 32, 1 + n, H/8, W/8]`` and back."""

    def __init__(self, channels: int = CHANNELS) -> None:
        super().__init__()
        values = 3 * PATCH * PATCH
        self.first = PrincipalComponents(values, channels)
        self.later = PrincipalComponents(STRIDE * values, channels)

    def fit(self, clips: Tensor) -> None:
        """Set both bases from training clips."""
        self.first.fit_patches(_to_patches(clips[:, :1], 1))
        self.later.fit_patches(_to_patches(clips[:, 1:], STRIDE))

    def encode(self, clips: Tensor) -> Tensor:
        """Latents of clips whose sides are multiples of 8; frames after the last four are cut."""
        later = clips[:, 1 : 1 + (clips.shape[1] - 1) // STRIDE * STRIDE]
        first = self.first.encode_patches(_to_patches(clips[:, :1], 1))
        later = self.later.encode_patches(_to_patches(later, STRIDE))
        return rearrange(torch.cat((first, later), 1), "b t h w c -> b c t h w")

    def decode(self, latents: Tensor) -> Tensor:
        """Clips of latents, clipped to [0, 1]."""
        latents = rearrange(latents, "b c t h w -> b t h w c")
        first = _to_frames(self.first.decode_patches(latents[:, :1]), 1)
        later = _to_frames(self.later.decode_patches(latents[:, 1:]), STRIDE)
        return torch.cat((first, later), 1).clamp(0, 1)


def _to_patches(clips: Tensor, stride: int) -> Tensor:
    return rearrange(
        clips, "b (t s) (h p) (w q) c -> b t h w (s p q c)", s=stride, p=PATCH, q=PATCH
    )


def _to_frames(patches: Tensor, stride: int) -> Tensor:
    return rearrange(
        patches, "b t h w (s p q c) -> b (t s) (h p) (w q) c", s=stride, p=PATCH, q=PATCH
    )
