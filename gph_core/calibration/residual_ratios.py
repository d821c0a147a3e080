"""MagCache's table: how the size of the residual changes from step to step.

    r_k = mean over tokens of |R_k| / |R_{k-1}|,    r_0 = 1

with Euclidean norms over the channels of a token. The ratios hardly depend on the prompt; the
source takes them from a single one.

Source: MagCache, as in its authors' code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..texts import counted
from .samples import Measured, Observed, Sample, Tensors, whole

LEADER = "0"  # the branch whose ratios are kept


class Ratios(Sample):
    """The ratios of one example, of the leader branch."""

    def __init__(self, num_steps: int) -> None:
        self._num_steps = num_steps
        self._norms: Tensor | None = None
        self._ratios = [1.0]

    def branch(self, observed: Observed) -> None:
        """Take what the blocks added to the tokens of a branch, ``[..., T, C]``.

        Tokens whose residual before was zero have no ratio and do not count.
        """
        if observed.branch != 0 or observed.residual is None:
            return
        norms, former = observed.residual.detach().float().norm(dim=-1), self._norms
        if former is not None:
            ratio = (norms / former)[former > 0].mean().item()
            if not 0 <= ratio < float("inf"):
                raise ValueError(
                    f"the residual at step {len(self._ratios)} or before is not finite, or zero "
                    "everywhere; leave this example out"
                )
            self._ratios.append(ratio)
        self._norms = norms

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        """Ratios of all steps, ``[N]`` in float64."""
        seen = {} if self._norms is None else {0: self._ratios}
        (ratios,) = whole(seen, self._num_steps, "MagCache", "what the blocks add")
        return {LEADER: torch.tensor(ratios, dtype=torch.float64)}


def table(samples: Sequence[Tensors]) -> Measured:
    """Mean ratio of each step over the examples, ``[N]`` in float64.

    The report has the largest standard deviation of a ratio over the examples, as a population.
    """
    if not samples:
        raise ValueError("the ratios need at least 1 example, got none")
    ratios = torch.stack([sample[LEADER] for sample in samples])
    deviation = ratios.std(0, correction=0).max().item()
    report = {"num_examples": len(samples), "largest_deviation": deviation}
    return Measured({LEADER: ratios.mean(0)}, report)


def described(facts: Mapping[str, Any]) -> str:
    """Line from the report of a table."""
    return (
        f"mean of {counted(facts['num_examples'], 'example')}; ratios differ by at most "
        f"{facts['largest_deviation']:.3f} (standard deviation)"
    )
