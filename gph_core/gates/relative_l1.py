"""Distance of two tensors, one number for each sample of a batch, reduced in float32."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Elements of a sample that are converted to float32 at a time: 64 MiB in up to three tensors.
CHUNK = 2**24
MIN_SIZE = 1e-12  # smallest mean size of a tensor that others are divided by


def mean_sizes(x: Tensor) -> Tensor:
    """``[B]`` mean absolute value of each sample of ``[B, ...]``."""
    parts = x.flatten(1).split(CHUNK, dim=1)
    return torch.stack([part.float().abs().sum(1) for part in parts]).sum(0) / x[0].numel()


def mean_distances(a: Tensor, b: Tensor) -> Tensor:
    """``[B]`` mean absolute difference of each sample of two ``[B, ...]`` of one shape."""
    pairs = zip(a.flatten(1).split(CHUNK, 1), b.flatten(1).split(CHUNK, 1), strict=True)
    sums = [(part.float() - other.float()).abs().sum(1) for part, other in pairs]
    return torch.stack(sums).sum(0) / a[0].numel()


def relative_changes(new: Tensor, old: Tensor) -> Tensor:
    """``[B]`` mean|new - old| / mean|old| of each sample; inf where the shapes differ."""
    if new.shape != old.shape:
        return torch.full((len(new),), math.inf)
    return mean_distances(new, old) / mean_sizes(old).clamp_min(MIN_SIZE)


def relative_change(new: Tensor, old: Tensor) -> float:
    """Mean of ``relative_changes`` over the batch; inf or NaN if a sample is not finite."""
    return relative_changes(new, old).mean().item()
