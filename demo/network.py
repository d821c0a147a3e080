"""The demo network: ComfyUI's own Flux class at toy size, and a table of word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from . import scenes
from .autoencoder import CHANNELS, PATCH, PatchAutoencoder
from .differentiable import velocity
from .words import Vocabulary

if TYPE_CHECKING:  # ComfyUI is not on the path yet
    from comfy.ldm.flux.model import Flux

Network = TypeVar("Network", bound=nn.Module)

WEIGHTS = Path(__file__).parent / "weights" / "golden_path_demo.safetensors"
WORD_CHANNELS = 64
LATENT_SHAPE = (CHANNELS, scenes.SIZE // PATCH, scenes.SIZE // PATCH)
SHIFT = 2.0  # of the noise levels, in training and sampling alike

FLUX_CONFIG = {
    "image_model": "flux",
    "in_channels": CHANNELS,
    "out_channels": CHANNELS,
    "patch_size": 1,
    "vec_in_dim": WORD_CHANNELS,
    "context_in_dim": WORD_CHANNELS,
    "hidden_size": 128,
    "mlp_ratio": 4.0,
    "num_heads": 4,
    "depth": 2,
    "depth_single_blocks": 4,
    "axes_dim": [8, 12, 12],
    "theta": 10_000,
    "qkv_bias": True,
    "guidance_embed": False,
    "txt_ids_dims": [],
}


class WordEncoder(nn.Module):
    """Word indices ``[B, 12]`` to token vectors ``[B, 12, 64]`` and their mean ``[B, 64]``."""

    def __init__(self, vocabulary: Vocabulary = scenes.WORDS) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.words = nn.Embedding(len(vocabulary), WORD_CHANNELS)
        self.positions = nn.Parameter(torch.zeros(vocabulary.max_words, WORD_CHANNELS))

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        tokens = self.words(ids) + self.positions
        return tokens, tokens.mean(1)


class DemoNetwork(nn.Module):
    """Parts that are trained and saved together: transformer, word vectors, autoencoder."""

    latent_shape = LATENT_SHAPE
    shift = SHIFT
    vocabulary = scenes.WORDS

    def __init__(self) -> None:
        super().__init__()
        self.transformer = build_transformer()
        self.words = WordEncoder()
        self.autoencoder = PatchAutoencoder()

    def forward(self, latents: Tensor, times: Tensor, ids: Tensor) -> Tensor:
        """Velocity of latents ``[B, 48, 8, 8]`` at noise levels ``[B]``, word ids ``[B, 12]``."""
        return velocity(self.transformer, latents, times, *self.words(ids))


def build_transformer() -> Flux:
    """ComfyUI's Flux at toy size with torch's own layers, for training; uninitialised."""
    from comfy.ldm.flux.model import Flux  # ComfyUI: only there once it is on the path

    return Flux(dtype=torch.float32, device="cpu", operations=nn, **FLUX_CONFIG)


def shifted(levels: Tensor) -> Tensor:
    """Noise levels in [0, 1], shifted towards noise by ``SHIFT``, as ComfyUI samples FLUX."""
    return SHIFT * levels / (1 + (SHIFT - 1) * levels)


def load(path: Path = WEIGHTS) -> DemoNetwork:
    """The network with saved weights, in float32, for inference."""
    return load_weights(DemoNetwork(), path)


def save(model: nn.Module, path: Path) -> None:
    """Write transformer and word vectors as bfloat16, the autoencoder as float32."""
    save_weights(model, path, "golden_path_demo")


def load_weights(model: Network, path: Path) -> Network:
    """Put saved weights into a network of a demo model, in float32, for inference."""
    model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
    return model.requires_grad_(False).eval()


def save_weights(model: nn.Module, path: Path, name: str) -> None:
    """Write a demo model's network; ``name`` stands in the file's metadata."""
    tensors = {}
    for key, tensor in model.state_dict().items():
        keep = key.startswith("autoencoder.")
        tensors[key] = (tensor if keep else tensor.bfloat16()).contiguous()
    save_file(tensors, path, metadata={"format": name})
