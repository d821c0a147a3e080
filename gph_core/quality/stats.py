"""Statistics of measured values: means with confidence intervals, and rank correlation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr, t


class Gain(NamedTuple):
    """A mean, usually of differences, with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def mean_of(values: Sequence[float]) -> Gain:
    """The mean of some values; the interval is Student's, infinite for a single value."""
    mean, count = statistics.fmean(values), len(values)
    if count < 2:
        return Gain(mean, -math.inf, math.inf)
    error = statistics.stdev(values) / math.sqrt(count)
    reach = float(t.ppf(0.975, count - 1)) * error
    return Gain(mean, mean - reach, mean + reach)


def spearman(one: ArrayLike, other: ArrayLike) -> float | None:
    """Spearman's rank correlation of pairs, ties at their mean rank.

    None where it is not defined: fewer than two pairs, or one side without two different values.
    """
    x, y = np.ravel(one), np.ravel(other)
    if min(len(np.unique(x)), len(np.unique(y))) < 2:
        return None
    result: Any = spearmanr(x, y)  # SciPy annotates several results
    return float(result.statistic)
