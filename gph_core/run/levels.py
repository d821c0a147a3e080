"""Noise levels for another number of steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

# From a number of steps to their noise levels.
Levels = Callable[[int], Tensor]


def along(sigmas: Tensor) -> Levels:
    """Noise levels on the curve of given ones, at even distances; the first and the last stay."""

    def levels(num_steps: int) -> Tensor:
        places = np.linspace(0, len(sigmas) - 1, num_steps + 1)
        found = np.interp(places, np.arange(len(sigmas)), sigmas.cpu().double().numpy())
        return torch.from_numpy(found).to(sigmas)

    return levels
