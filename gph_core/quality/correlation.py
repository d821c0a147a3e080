"""Rank correlation of measured numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr


def spearman(one: ArrayLike, other: ArrayLike) -> float | None:
    """Spearman's rank correlation of pairs, ties at their mean rank.

    None where it is not defined: fewer than two pairs, or one side without two different values.
    """
    x, y = np.ravel(one), np.ravel(other)
    if min(len(np.unique(x)), len(np.unique(y))) < 2:
        return None
    found: Any = spearmanr(x, y)  # whose annotations leave open what it returns
    return float(found.statistic)
