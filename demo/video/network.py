"""The video network: ComfyUI's own Wan class at toy size, and a table of word vectors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ..network import WORD_CHANNELS, WordEncoder, load_weights, save_weights
from . import scenes
from .autoencoder import CHANNELS, PATCH, STRIDE, VideoAutoencoder

if TYPE_CHECKING:  # ComfyUI is not on the path yet
    from comfy.ldm.wan.model import WanModel

WEIGHTS = Path(__file__).parent.parent / "weights" / "golden_path_demo_video.safetensors"
LATENT_SHAPE = (
    CHANNELS,
    1 + (scenes.FRAMES - 1) // STRIDE,
    scenes.SIZE // PATCH,
    scenes.SIZE // PATCH,
)
SHIFT = 3.0  # of the noise levels, in training and sampling alike

# Two experts as Wan 2.2 has them. At this level half of the steps of the scheduler *simple* are
# done, so each expert takes as many.
BOUNDARY = 0.75
EXPERTS = {"high": (BOUNDARY, 1.0), "low": (0.0, BOUNDARY)}
WEIGHTS_OF = {name: WEIGHTS.with_stem(f"{WEIGHTS.stem}_{name}") for name in EXPERTS}

WAN_CONFIG = {
    "image_model": "wan2.1",
    "model_type": "t2v",
    "patch_size": (1, 2, 2),
    "in_dim": CHANNELS,
    "out_dim": CHANNELS,
    "dim": 192,
    "ffn_dim": 640,
    "freq_dim": 256,
    "text_dim": WORD_CHANNELS,
    "num_heads": 4,
    "num_layers": 6,
}


class VideoNetwork(nn.Module):
    """Parts that are trained and saved together: transformer, word vectors, autoencoder."""

    latent_shape = LATENT_SHAPE
    shift = SHIFT
    vocabulary = scenes.VOCABULARY

    def __init__(self) -> None:
        super().__init__()
        self.transformer = build_transformer()
        self.words = WordEncoder(scenes.VOCABULARY)
        self.autoencoder = VideoAutoencoder()
        self._rotation = self.transformer.rope_encode(*LATENT_SHAPE[1:])

    def forward(self, latents: Tensor, times: Tensor, ids: Tensor) -> Tensor:
        """Velocity of latents ``[B, 32, 4, 8, 8]`` at levels ``[B]`` for word ids ``[B, 12]``."""
        tokens, _ = self.words(ids)
        return self.transformer.forward_orig(
            latents,
            1000 * times,
            tokens,
            freqs=self._rotation,
            transformer_options={"optimized_attention_override": _attend},
        )


class Experts(nn.Module):
    """Two networks: one samples down to noise level ``BOUNDARY``, the other from there."""

    latent_shape = LATENT_SHAPE
    shift = SHIFT
    vocabulary = scenes.VOCABULARY

    def __init__(self, high: VideoNetwork, low: VideoNetwork) -> None:
        super().__init__()
        self.high, self.low = high, low
        self.autoencoder = high.autoencoder

    def forward(self, latents: Tensor, times: Tensor, ids: Tensor) -> Tensor:
        """Velocity, like that of ``VideoNetwork``; all levels are on one side of the boundary.

        A step that begins at the boundary is the low expert's, however its level is rounded.
        """
        expert = self.high if times[0] > BOUNDARY + 1e-4 else self.low
        return expert(latents, times, ids)


def _attend(_, q: Tensor, k: Tensor, v: Tensor, heads: int, **options) -> Tensor:
    """Attention of ``[B, L, heads · D]``, written out.

    On CPU the backward pass of torch's fused attention takes half the training time.
    """
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2)


def build_transformer() -> WanModel:
    """ComfyUI's Wan at toy size with torch's own layers, for training; uninitialised."""
    from comfy.ldm.wan.model import WanModel  # ComfyUI: only there once it is on the path

    return WanModel(dtype=torch.float32, device="cpu", operations=nn, **WAN_CONFIG)


@contextmanager
def gradients() -> Iterator[None]:
    """Make ComfyUI use a rotary embedding that autograd can follow."""
    import comfy.model_management

    before = comfy.model_management.in_training
    comfy.model_management.in_training = True
    try:
        with warnings.catch_warnings():
            # Autocast gives norms 16-bit inputs; torch says that it has no fast form for that.
            warnings.filterwarnings("ignore", "Mismatch dtype between input and weight")
            yield
    finally:
        comfy.model_management.in_training = before


def shifted(levels: Tensor) -> Tensor:
    """Noise levels in [0, 1], shifted towards noise by ``SHIFT``, as ComfyUI samples Wan."""
    return SHIFT * levels / (1 + (SHIFT - 1) * levels)


def load(path: Path = WEIGHTS) -> VideoNetwork:
    """The network with saved weights, in float32, for inference."""
    return load_weights(VideoNetwork(), path)


def save(model: nn.Module, path: Path) -> None:
    """Write transformer and word vectors as bfloat16, the autoencoder as float32."""
    save_weights(model, path, "golden_path_demo_video")
