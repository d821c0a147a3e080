"""Coverage: how often one schedule comes near the best candidate of each prompt.

Quality, where higher is better (see ``objective``), is in arrays ``[S, P]`` of S schedules, or
other ways of sampling, and P prompts.

Source: GPH paper, appendix *The coverage test*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest

LEVEL = 0.05  # of the bounds, one-sided


class CoveredShare(NamedTuple):
    """The share of the prompts within a margin of the best candidate, with lower bounds.

    Args:
        lower: one-sided 95 % bound of a schedule that was not chosen by its coverage.
        corrected: the same for the best of several schedules.
    """

    margin: float
    share: float
    lower: float
    corrected: float


def regrets(quality: ArrayLike, candidates: ArrayLike | None = None) -> np.ndarray:
    """Distance of each schedule below the best candidate of each prompt, ``[S, P]`` float64.

    Args:
        quality: ``[S, P]``; the mean over the seeds of a prompt.
        candidates: quality ``[C, P]`` of the candidates, if these are not the schedules themselves;
            then a schedule that is better has a negative regret.

    Raises:
        ValueError: a value is infinite or no number, or there are no schedules or prompts.
    """
    measured = _measured(quality)
    return _measured(measured if candidates is None else candidates).max(axis=0) - measured


def coverage(
    regret: ArrayLike, margins: Sequence[float], num_candidates: int = 1
) -> list[CoveredShare]:  # fmt: skip
    """Share of the regrets ``[P]`` of one schedule that are within each margin.

    Args:
        num_candidates: schedules that this one was chosen from; the corrected bound has the
            Bonferroni level, 0.05 over their number.
    """
    below = np.asarray(regret, dtype=np.float64)
    counts = [int((below <= margin).sum()) for margin in margins]
    return [
        CoveredShare(
            margin,
            count / len(below),
            lower_bound(count, len(below)),
            lower_bound(count, len(below), num_candidates),
        )
        for margin, count in zip(margins, counts, strict=True)
    ]


def lower_bound(covered: int, prompts: int, num_candidates: int = 1) -> float:
    """The exact (Clopper–Pearson) one-sided lower bound of a share, at 0.05 over the candidates."""
    test = binomtest(covered, prompts, alternative="greater")
    return float(test.proportion_ci(1 - LEVEL / num_candidates, method="exact").low)


def shared_schedule(regret: ArrayLike, margin: float) -> int:
    """Row of the regrets ``[S, P]`` with the highest coverage at a margin; of equals the first.

    The source chooses it at the tightest margin.
    """
    return int((np.asarray(regret) <= margin).sum(axis=1).argmax())


def _measured(quality: ArrayLike) -> np.ndarray:
    values = np.asarray(quality, dtype=np.float64)
    if values.ndim != 2 or not values.size:
        raise ValueError(
            f"coverage needs a quality for each schedule and prompt, got an array of {values.shape}"
        )
    if not np.isfinite(values).all():
        wrong = np.count_nonzero(~np.isfinite(values))
        raise ValueError(
            f"{wrong} of {values.size} values are infinite or no numbers; cap the PSNR of equal "
            "images and leave out what could not be measured"
        )
    return values
