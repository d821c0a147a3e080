"""The video model inside ComfyUI: a MODEL, a VAE and a CLIP from saved weights."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import comfy.latent_formats
import comfy.supported_models
import torch
from torch import Tensor

from ..comfy_model import DemoCLIP, load_part, patcher_of, read_part
from ..network import WordEncoder
from . import network, scenes
from .autoencoder import CHANNELS, PATCH, STRIDE, VideoAutoencoder


class VideoLatents(comfy.latent_formats.LatentFormat):
    """32 channels on an 8×8 grid over 4 times, already scaled by the autoencoder."""

    latent_channels = CHANNELS
    latent_dimensions = 3
    spacial_downscale_ratio = PATCH
    temporal_downscale_ratio = STRIDE

    def __init__(self, weights: Path = network.WEIGHTS) -> None:
        # The preview shows the first latent, which is one frame: the mean colours of its patches.
        first = load_autoencoder(weights).first
        basis = first.basis.unflatten(0, (PATCH * PATCH, 3)).mean(0)  # [3, 32]
        self.latent_rgb_factors = (2 * basis * first.scale).T.tolist()
        self.latent_rgb_factors_bias = (2 * first.mean.view(-1, 3).mean(0) - 1).tolist()


class DemoWan(comfy.supported_models.WAN21_T2V):
    """ComfyUI's Wan, in the video model's size and latent space."""

    unet_config = network.WAN_CONFIG
    sampling_settings = {"shift": network.SHIFT}  # noqa: RUF012 - ComfyUI's form
    supported_inference_dtypes = [torch.float32]  # noqa: RUF012 - ComfyUI's form

    def __init__(self, weights: Path) -> None:
        super().__init__(dict(network.WAN_CONFIG))
        self.latent_format = VideoLatents(weights)


class VideoVAE:
    """The linear autoencoder, as the nodes *VAE Decode* and *VAE Encode* call it."""

    def __init__(self, weights: Path = network.WEIGHTS) -> None:
        self._autoencoder = load_autoencoder(weights)

    def decode(self, samples: Tensor) -> Tensor:
        """``[B, 32, 1 + n, h, w]`` to ``[B, 1 + 4n, 8h, 8w, 3]`` in [0, 1]."""
        return self._autoencoder.decode(samples.float().cpu())

    def encode(self, pixels: Tensor) -> Tensor:
        """Frames ``[F, H, W, 3]`` of one clip to ``[1, 32, 1 + (F - 1) / 4, H/8, W/8]``.

        Sides are cut to multiples of 8, frames to one more than a multiple of 4.
        """
        height, width = (side // PATCH * PATCH for side in pixels.shape[1:3])
        return self._autoencoder.encode(pixels[None, :, :height, :width, :3].float().cpu())


def load_model(weights: Path = network.WEIGHTS, disable_dynamic: bool = False):
    """A fresh MODEL; ComfyUI asks with ``disable_dynamic`` for one that torch.compile can hold."""
    patcher = patcher_of(DemoWan(weights), read_part(weights, "transformer."), disable_dynamic)
    patcher.cached_patcher_init = (load_model, (weights,))
    return patcher


def load_clip(weights: Path = network.WEIGHTS) -> DemoCLIP:
    """The word vectors, as nodes that encode a prompt call them."""
    return DemoCLIP(load_part(WordEncoder(scenes.VOCABULARY), weights, "words."))


@cache
def load_autoencoder(weights: Path = network.WEIGHTS) -> VideoAutoencoder:
    """The autoencoder, shared: nothing changes it."""
    return load_part(VideoAutoencoder(), weights, "autoencoder.")
