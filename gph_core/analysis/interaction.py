"""Interaction of policies and schedules: an additive fit and its residuals.

Source: GPH paper, appendix *Schedule and approximation policy comparisons*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Shares(NamedTuple):
    """Shares of the sum of squared deviations from the grand mean; they add up to 1."""

    schedule: float
    policy: float
    interaction: float


class Interaction(NamedTuple):
    """``mean + schedules[s] + policies[p] + residuals[s, p]`` is the quality of a pair.

    Effects sum to zero; residuals do in every row and column.
    """

    mean: float
    schedules: np.ndarray  # [S]
    policies: np.ndarray  # [P]
    residuals: np.ndarray  # [S, P]
    shares: Shares


def interaction(quality: ArrayLike) -> Interaction:
    """The additive least-squares fit to mean qualities ``[S, P]`` of S schedules under P policies.

    Its effects are the means of rows and columns less the grand mean.

    Raises:
        ValueError: fewer than two schedules or policies, values that are not finite, or all equal.
    """
    values = np.asarray(quality, dtype=np.float64)
    if values.ndim != 2 or min(values.shape) < 2:
        raise ValueError(
            "an interaction needs two or more schedules under two or more policies, got an array "
            f"of {values.shape}"
        )
    mean = values.mean()
    schedules, policies = values.mean(axis=1) - mean, values.mean(axis=0) - mean
    residuals = values - mean - schedules[:, None] - policies
    total = np.square(values - mean).sum()
    if not (np.isfinite(total) and total > 0):
        raise ValueError(
            "the qualities are all the same, so there is nothing to explain"
            if total == 0
            else "a quality is infinite or no number; leave its schedule or policy out"
        )
    parts = (
        values.shape[1] * np.square(schedules).sum(),
        values.shape[0] * np.square(policies).sum(),
        np.square(residuals).sum(),
    )
    shares = Shares(*(float(part / total) for part in parts))
    return Interaction(float(mean), schedules, policies, residuals, shares)
