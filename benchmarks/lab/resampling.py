"""Confidence intervals by the bootstrap, over prompts or over single runs.

Meant for the hundreds of prompts of a study. With few examples it is too narrow: see
``search.selection.mean_of`` for these.

Source: GPH paper, tables of paired differences: 95 %, resampling prompt–seed runs individually.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from golden_path_pack.gph_core.quality.stats import Gain
from numpy.typing import ArrayLike

RESAMPLES = 10_000
_AT_ONCE = 2**24  # values that are drawn at once, 128 MiB


def bootstrapped(
    values: ArrayLike, by: Literal["prompt", "run"] = "prompt", seed: int = 0
) -> Gain:  # fmt: skip
    """The mean with its 95 % percentile interval; the same for the same values and seed.

    Args:
        values: ``[P]``, or ``[P, R]`` for R runs of each of P prompts, with different noises.
        by: what is resampled. Runs of a prompt are more alike than those of several, so for
            what holds on new prompts it is the prompts, with all of their runs; the source
            resamples runs, which gives narrower intervals.
    """
    found = np.asarray(values, dtype=np.float64)
    if by == "prompt" and found.ndim > 1:
        found = found.mean(axis=1)
    drawn = found.ravel()
    if len(drawn) < 2:
        raise ValueError(f"an interval needs two or more {by}s, got {len(drawn)}")
    low, high = np.percentile(_means(drawn, np.random.default_rng(seed)), (2.5, 97.5))
    return Gain(float(drawn.mean()), float(low), float(high))


def paired_difference(
    values: ArrayLike, others: ArrayLike, by: Literal["prompt", "run"] = "prompt", seed: int = 0
) -> Gain:  # fmt: skip
    """Mean difference of values to others of the same prompts and noises.

    Args:
        values, others: of one shape; see ``bootstrapped``.
    """
    first, second = np.asarray(values, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(
            f"differences are of the same prompts and runs, got arrays of {first.shape} and "
            f"{second.shape}"
        )
    return bootstrapped(first - second, by, seed)


def _means(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means of resamples. scipy's bootstrap takes its generator under two names, by version."""
    rows = max(1, _AT_ONCE // len(values))
    parts = (min(rows, RESAMPLES - first) for first in range(0, RESAMPLES, rows))
    drawn = (values[rng.integers(len(values), size=(part, len(values)))] for part in parts)
    return np.concatenate([part.mean(axis=1) for part in drawn])
