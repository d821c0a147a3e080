"""The demo model inside ComfyUI: a MODEL and a VAE from the bundled weights."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import TypeVar

import comfy.latent_formats
import comfy.model_management
import comfy.model_patcher
import comfy.supported_models
import torch
from safetensors.torch import load_file
from torch import Tensor

from . import network
from .autoencoder import CHANNELS, PATCH, PatchAutoencoder

Part = TypeVar("Part", bound=torch.nn.Module)


class DemoLatents(comfy.latent_formats.LatentFormat):
    """48 channels on an 8×8 grid, already scaled by the autoencoder."""

    latent_channels = CHANNELS
    spacial_downscale_ratio = PATCH

    def __init__(self) -> None:
        # A pixel of the live preview is the mean colour of a patch, which is linear in the latent.
        autoencoder = load_autoencoder()
        basis = autoencoder.basis.unflatten(0, (PATCH * PATCH, 3)).mean(0)  # [3, 48]
        self.latent_rgb_factors = (2 * basis * autoencoder.scale).T.tolist()
        self.latent_rgb_factors_bias = (2 * autoencoder.mean.view(-1, 3).mean(0) - 1).tolist()


class DemoFlux(comfy.supported_models.Flux):
    """ComfyUI's FLUX, in the demo model's size and latent space."""

    unet_config = network.FLUX_CONFIG
    # ComfyUI's form; ModelSamplingFlux takes the logarithm.
    sampling_settings = {"shift": math.log(network.SHIFT)}  # noqa: RUF012
    latent_format = DemoLatents
    supported_inference_dtypes = [torch.float32]  # noqa: RUF012 - ComfyUI's form


class DemoVAE:
    """The linear autoencoder, as the nodes *VAE Decode* and *VAE Encode* call it."""

    def __init__(self) -> None:
        self._autoencoder = load_autoencoder()

    def decode(self, samples: Tensor) -> Tensor:
        """``[B, 48, h, w]`` to ``[B, 8h, 8w, 3]`` in [0, 1]."""
        return self._autoencoder.decode(samples.float().cpu())

    def encode(self, pixels: Tensor) -> Tensor:
        """``[B, H, W, 3]`` to ``[B, 48, H/8, W/8]``; sides are cut to multiples of 8."""
        height, width = (side // PATCH * PATCH for side in pixels.shape[1:3])
        return self._autoencoder.encode(pixels[:, :height, :width, :3].float().cpu())


class DemoCLIP:
    """The word vectors, as nodes that encode a prompt call them."""

    def __init__(self, words: network.WordEncoder | None = None) -> None:
        self._words = words or load_words()

    def tokenize(self, text: str) -> list[int]:
        """Numbers of the words; ``ValueError`` that lists those which are not in the vocabulary."""
        return self._words.vocabulary.ids(text)

    def encode_from_tokens_scheduled(self, tokens: list[int]) -> list:
        """A CONDITIONING of one prompt."""
        with torch.no_grad():
            vectors, pooled = self._words(torch.tensor([tokens]))
        return [[vectors, {"pooled_output": pooled}]]


def load_model(disable_dynamic: bool = False):
    """A fresh MODEL; ComfyUI asks with ``disable_dynamic`` for one that torch.compile can hold."""
    config = DemoFlux(dict(network.FLUX_CONFIG))
    patcher = patcher_of(config, read_part(network.WEIGHTS, "transformer."), disable_dynamic)
    patcher.cached_patcher_init = (load_model, ())
    return patcher


def patcher_of(config, weights: dict[str, Tensor], disable_dynamic: bool):
    """A MODEL of one of ComfyUI's model configurations, with these weights, in float32."""
    config.set_inference_dtype(torch.float32, None)
    model = config.get_model({}, "")
    model.diffusion_model.load_state_dict(weights)
    patcher_class = (
        comfy.model_patcher.ModelPatcher
        if disable_dynamic
        else comfy.model_patcher.CoreModelPatcher
    )
    return patcher_class(
        model,
        load_device=comfy.model_management.get_torch_device(),
        offload_device=comfy.model_management.unet_offload_device(),
    )


@cache
def load_words() -> network.WordEncoder:
    """The word vectors, shared: nothing changes them."""
    return load_part(network.WordEncoder(), network.WEIGHTS, "words.")


@cache
def load_autoencoder() -> PatchAutoencoder:
    """The autoencoder, shared: nothing changes it."""
    return load_part(PatchAutoencoder(), network.WEIGHTS, "autoencoder.")


def load_part(module: Part, path: Path, prefix: str) -> Part:
    """The module with its part of saved weights, for inference."""
    module.load_state_dict(read_part(path, prefix))
    return module.requires_grad_(False).eval()


def read_part(path: Path, prefix: str) -> dict[str, Tensor]:
    """One part of saved weights, in float32."""
    tensors = load_file(path)
    return {k.removeprefix(prefix): v.float() for k, v in tensors.items() if k.startswith(prefix)}
