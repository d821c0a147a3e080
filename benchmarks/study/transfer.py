"""Transfer of a ranking of schedules from a few prompts to others.

Source: GPH paper, appendix *Exhaustive high-ratio schedule search*.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from golden_path_pack.gph_core.quality.stats import spearman
from numpy.typing import ArrayLike
from scipy.stats import rankdata


class RankTransfer(NamedTuple):
    """Ranks of schedules on two sets of prompts.

    Args:
        spearman: rank correlation of the means; ties take their mean rank.
        winner_rank: that of the first one's best schedule on the second, 1 the best; it shares the
            best rank of those that equal it.
        winner_loss: by how much the second one's best schedule is better there.
        shared_top: how many are among the best ``top`` of both.
    """

    spearman: float
    winner_rank: int
    winner_loss: float
    shared_top: int
    top: int


def transfer(calibration: ArrayLike, held_out: ArrayLike, top: int = 64) -> RankTransfer:
    """Compare the mean quality ``[S]`` of the same schedules on two sets of prompts.

    Of equal means the first ones are taken into the best ``top``.

    Raises:
        ValueError: fewer than two schedules, or all of one set are equal, so there are no ranks.
    """
    first, second = np.asarray(calibration, np.float64), np.asarray(held_out, np.float64)
    if first.shape != second.shape or first.ndim != 1 or len(first) < 2:
        raise ValueError(
            "rankings need one mean for each of two or more schedules on both sides, got arrays of "
            f"{first.shape} and {second.shape}"
        )
    correlation = spearman(first, second)
    if correlation is None:
        raise ValueError("all schedules have the same mean, so they have no ranking")
    winner = int(first.argmax())
    best = [set(np.argsort(-means, kind="stable")[:top]) for means in (first, second)]
    return RankTransfer(
        correlation,
        int(rankdata(-second, "min")[winner]),
        float(second.max() - second[winner]),
        len(best[0] & best[1]),
        min(top, len(first)),
    )


def losses(
    scores: ArrayLike, count: int, evaluated: ArrayLike | None = None, at_most: int = 1000,
    seed: int = 0,
) -> np.ndarray:  # fmt: skip
    """Cost of choosing the best schedule on ``count`` of the scoring examples alone.

    For every subset of that size: how far the schedule with the best mean on it (of equals the
    first) stays below the best of all, in the quality that counts.

    Args:
        scores: ``[S, E]`` of an example each, higher is better.
        evaluated: the quality ``[S]`` that counts, such as the mean on held-out prompts; by
            default the mean over all scoring examples, as in the source.
        at_most: subsets; of more of them so many are drawn at random, the same for one seed.
    """
    values = np.asarray(scores, dtype=np.float64)
    counts = values.mean(axis=1) if evaluated is None else np.asarray(evaluated, dtype=np.float64)
    examples = values.shape[1]
    if not 1 <= count <= examples:
        raise ValueError(f"{count} of {examples} scoring examples cannot be chosen")
    subsets = itertools.combinations(range(examples), count)
    if math.comb(examples, count) > at_most:
        rng = np.random.default_rng(seed)
        subsets = (tuple(rng.permutation(examples)[:count]) for _ in range(at_most))
    chosen = [int(values[:, subset].mean(axis=1).argmax()) for subset in subsets]
    return counts.max() - counts[chosen]
