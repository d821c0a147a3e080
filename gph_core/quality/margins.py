"""Quality margins: how much a prompt may lose, in units of the cost of one more cached step.

Source: GPH paper, appendix *Quality margins and coverage under SSIM and LPIPS*.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

# The source's margins by objective; of LPIPS as positive differences.
PUBLISHED = {
    "PSNR": (0.25, 0.5, 1.0),
    "SSIM": (0.0075, 0.015, 0.03),
    "LPIPS": (0.01, 0.02, 0.04),
}
# About what these are in units of the median change: 0.42, 0.84 and 1.69 of it for PSNR.
FACTORS = (0.5, 1.0, 2.0)


def changes_per_cached_step(
    quality: Sequence[ArrayLike], num_cached: Sequence[int]
) -> list[float]:  # fmt: skip
    """Cost of one more cached step, between neighboring numbers of cached steps.

    Args:
        quality: ``[P]`` for each number of cached steps, all with schedules chosen in one way;
            higher is better. The median over the prompts counts.
        num_cached: these numbers, all different, in any order.
    """
    if len(num_cached) < 2 or len(set(num_cached)) < len(num_cached):
        raise ValueError(
            "a change needs quality at two or more different numbers of cached steps, got "
            f"{', '.join(map(str, num_cached))}"
        )
    medians = sorted(
        (count, float(np.median(np.asarray(values, dtype=np.float64))))
        for count, values in zip(num_cached, quality, strict=True)
    )  # fmt: skip
    return [(high - low) / (more - few) for (few, high), (more, low) in pairwise(medians)]


def derived(changes: ArrayLike) -> tuple[float, ...]:
    """Half, one and two times the median of changes; ``ValueError`` unless that is a loss."""
    median = float(np.median(np.asarray(changes, dtype=np.float64)))
    if not median > 0:
        raise ValueError(
            f"quality changes by {median:.3g} with each full step less, in the median; margins "
            "need it to fall: write them yourself, or compare numbers of full steps further apart"
        )
    return tuple(factor * median for factor in FACTORS)
