"""Material of planned methods: L2P's products, the costs of DPCache and MeanCache.

The samples are made by ``linear_fit.gram``, ``dpcache.jump_costs`` and ``meancache.edge_costs``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ..planning.planners import MeanCosts
from ..policies.linear_fit import fit, relative_errors
from .entry import Fitted
from .polynomial import HELD_OUT

Sample = Mapping[str, Tensor]


def products(samples: Sequence[Sample]) -> Fitted:
    """``gram``, the sum over the examples to fit to, ``held_out``, that over a fifth, at least one.

    The report has the mean relative square error of the steps from 1 on, each predicted from the
    outputs of full runs.
    """
    num_held_out = max(1, len(samples) // HELD_OUT)
    num_fit = len(samples) - num_held_out
    if num_fit < 1:
        raise ValueError(
            f"the weights need at least 2 examples, one to check them, got {len(samples)}"
        )
    grams = torch.stack([sample["gram"] for sample in samples])
    fitted, held_out = grams[:num_fit].sum(0), grams[num_fit:].sum(0)
    weights = fit(fitted).matrix
    report = {
        "num_fit": num_fit,
        "num_held_out": num_held_out,
        "error_fit": relative_errors(weights, fitted)[1:].mean().item(),
        "error_held_out": relative_errors(weights, held_out)[1:].mean().item(),
    }
    return Fitted({"gram": fitted, "held_out": held_out}, report)


def costs(samples: Sequence[Sample]) -> Fitted:
    """``costs``, the mean over the examples."""
    if not samples:
        raise ValueError("the costs of jumps need at least 1 example, got none")
    mean = MeanCosts.of(tuple(samples[0]["costs"].shape))
    for sample in samples:
        mean.add(sample["costs"])
    return Fitted({"costs": mean.mean()}, {"num_examples": len(samples)})
