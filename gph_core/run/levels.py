"""Noise levels of a run, and those for another number of steps."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

# Some samplers recompute noise levels through exp and log: up to 3e-5 relative was seen.
SIGMA_TOLERANCE = 1e-4

# From a number of steps to their noise levels.
Levels = Callable[[int], Tensor]


class NoiseLevels:
    """The falling noise levels of a run's steps, and that at its end."""

    def __init__(self, sigmas: Sequence[float]) -> None:
        self.sigmas = tuple(sigmas)
        self._steps: dict[float, int | None] = {}

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    def step_at(self, sigma: float) -> int | None:
        """The step whose noise level this is, or None off the grid."""
        if sigma not in self._steps:
            levels = self.sigmas[:-1]
            right = bisect.bisect_left(levels, -sigma, key=lambda level: -level)
            candidates = [n for n in (right - 1, right) if 0 <= n < len(levels)]
            step = min(candidates, key=lambda n: abs(levels[n] - sigma))
            is_close = abs(levels[step] - sigma) <= SIGMA_TOLERANCE * abs(sigma)
            self._steps[sigma] = step if is_close else None
        return self._steps[sigma]

    def of_step(self, step: int | None, sigma: float) -> tuple[float, float] | None:
        """Noise levels where a step begins and ends; it begins at ``sigma`` if that is its own."""
        if step is None:
            return None
        begin = sigma if self.step_at(sigma) == step else self.sigmas[step]
        return begin, self.sigmas[step + 1]


def along(sigmas: Tensor) -> Levels:
    """Noise levels on the curve of given ones, at even distances; the first and the last stay."""

    def levels(num_steps: int) -> Tensor:
        places = np.linspace(0, len(sigmas) - 1, num_steps + 1)
        found = np.interp(places, np.arange(len(sigmas)), sigmas.cpu().double().numpy())
        return torch.from_numpy(found).to(sigmas)

    return levels
