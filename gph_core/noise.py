"""Noise levels without the shift of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FLOW_MAX = 1.01  # flow models begin at 1, in float32; the lowest begin of others is 14


def without_shift(sigmas: Sequence[float], halfway: float, sigma_max: float = 1.0) -> np.ndarray:
    """Noise levels from 0 to 1, with 1/2 in the middle of the model's own schedule.

    A shift by s multiplies the ratio of noise to signal by s; this divides it by its value halfway.

    Args:
        sigmas: of a flow model, whose ratio is ``sigma / (1 - sigma)``; or of another one, whose
            sigmas are the ratio itself and exceed 1.
        sigma_max: the model's highest noise level, which a part of a run does not show.
    """
    levels = np.array(sigmas, float)
    if max(levels[0], sigma_max) > FLOW_MAX or halfway >= 1:
        return levels / (levels + halfway)
    noise, signal = levels * (1 - halfway), (1 - levels) * halfway
    return noise / (noise + signal)
