"""The network of LPIPS, from a file of torchvision's weights. Nothing is ever downloaded here.

The package ``lpips`` has the distance with its learned weights, but lets torchvision download the
network below it, AlexNet (as in the GPH paper) or VGG16. So that network is made with random
weights, which those of a file replace.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from ..files import reading

MOST_BYTES = 2**34  # VGG16 has half a gigabyte


@dataclass(frozen=True)
class Backbone:
    """A network that LPIPS can be built on."""

    name: str
    key: str  # in the package
    smallest: int  # pixels on a side, below which a pooling has no output
    bytes_per_pixel: int  # peak memory of comparing two images (measured on a CPU)


# By the shape of the first layer's weights.
BACKBONES: dict[tuple[int, ...], Backbone] = {
    (64, 3, 11, 11): Backbone("AlexNet", "alex", 31, 270),
    (64, 3, 3, 3): Backbone("VGG16", "vgg", 16, 2520),
}


@dataclass(frozen=True)
class LpipsNetwork:
    """Distance between two batches ``[B, 3, H, W]`` in [-1, 1], as ``metrics.lpips`` takes it."""

    backbone: Backbone
    module: torch.nn.Module

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        least, (height, width) = self.backbone.smallest, first.shape[-2:]
        if min(height, width) < least:
            raise ValueError(
                f"LPIPS with {self.backbone.name} needs images of at least {least} x {least} "
                f"pixels, these have {width} x {height}"
            )
        return self.module(first, second)


def load(path: Path, device: torch.device | str = "cpu") -> LpipsNetwork:
    """The network with the weights of a file, .safetensors or .pth of torchvision.

    ``ValueError`` if the file is another one, ``ImportError`` if a package is missing.
    """
    weights = read_weights(path)
    first = weights.get("features.0.weight")
    backbone = BACKBONES.get(tuple(first.shape) if isinstance(first, Tensor) else ())
    if backbone is None:
        raise ValueError(
            f"{path.name} has not the weights of torchvision's AlexNet or VGG16; "
            "choose a file such as alexnet-owt-7be5be79.pth"
        )
    module = _with_random_weights(backbone.key)
    network: Any = module.net
    # The package keeps torchvision's numbers, as in slice2.3.weight for features.3.weight.
    wanted = {name: f"features.{name.split('.', 1)[1]}" for name in network.state_dict()}
    if missing := sorted(set(wanted.values()) - set(weights)):
        raise ValueError(f"{path.name} is no whole {backbone.name}: {missing[0]} is missing")
    try:
        network.load_state_dict({name: weights[key] for name, key in wanted.items()})
    except reading.ERRORS as error:
        raise ValueError(f"{path.name} is no {backbone.name} of torchvision: {error}") from error
    if not all(tensor.isfinite().all() for tensor in network.state_dict().values()):
        raise ValueError(f"{path.name} is damaged: some of its weights are no numbers")
    return LpipsNetwork(backbone, module.to(device))


def read_weights(path: Path) -> dict[str, Any]:
    """The tensors of a file by name; ``ValueError`` if it is damaged or contains code."""
    try:
        reading.check_file(path, MOST_BYTES)
        if path.suffix == ".safetensors":
            return safetensors.torch.load_file(path)
        with warnings.catch_warnings():  # of odd pickles, which are refused anyway
            warnings.simplefilter("ignore")
            weights = torch.load(path, map_location="cpu", weights_only=True)
    except reading.ERRORS as error:
        raise ValueError(
            f"{path.name} cannot be read as a file of weights: {reading.reason(error)}"
        ) from error
    return weights if isinstance(weights, dict) else {}


def _with_random_weights(key: str) -> Any:
    try:
        import lpips
    except ImportError as error:
        raise ImportError(
            "LPIPS needs the package lpips; install it with: pip install lpips"
        ) from error
    # Leave the seed of the process alone; the package warns of its own use of torchvision.
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lpips.LPIPS(net=key, pnet_rand=True, verbose=False)
