"""MagCache's table: how the size of the residual changes from step to step.

    r_k = mean over tokens of |R_k| / |R_{k-1}|,    r_0 = 1

with Euclidean norms over the channels of a token. The ratios hardly depend on the prompt; the
source takes them from a single one.

Source: MagCache, as in its authors' code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from .entry import Fitted


class Ratios:
    """The ratios of one example while it is computed in full."""

    def __init__(self) -> None:
        self._norms: dict[str, Tensor] = {}
        self._ratios: dict[str, list[float]] = {}

    def add(self, branch: str, residual: Tensor) -> None:
        """Take the next step of a branch: what the blocks added to its tokens, ``[..., T, C]``.

        Tokens whose residual before was zero have no ratio and do not count.
        """
        norms = residual.detach().float().norm(dim=-1)
        if branch not in self._norms:
            self._ratios[branch] = [1.0]
        else:
            former = self._norms[branch]
            ratio = (norms / former)[former > 0].mean().item()
            step = len(self._ratios[branch])
            if not 0 <= ratio < float("inf"):
                raise ValueError(
                    f"the residual at step {step} or before is not finite, or zero everywhere; "
                    "leave this example out"
                )
            self._ratios[branch].append(ratio)
        self._norms[branch] = norms

    def sample(self) -> dict[str, Tensor]:
        """Ratios of all steps by branch, ``[N]`` in float64."""
        return {b: torch.tensor(r, dtype=torch.float64) for b, r in self._ratios.items()}


def table(samples: Sequence[Mapping[str, Tensor]]) -> Fitted:
    """Mean ratio of each step over the examples by branch, ``[N]`` in float64.

    The report has the largest standard deviation of a ratio over the examples, as a population.
    """
    if not samples:
        raise ValueError("the ratios need at least 1 example, got none")
    ratios = {branch: torch.stack([s[branch] for s in samples]) for branch in samples[0]}
    deviation = max(r.std(0, correction=0).max().item() for r in ratios.values())
    values = {branch: r.mean(0) for branch, r in ratios.items()}
    return Fitted(values, {"num_examples": len(samples), "largest_deviation": deviation})
