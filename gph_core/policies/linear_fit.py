"""Fit the weights of ``CausalLinear`` to full runs, in closed form.

The fit needs only the Gram matrix of a run, ``[N, N]`` products of the outputs of its steps. Gram
matrices add up over runs, branches and streams, so no output is kept. A second sum, over other
prompts, shows how good the weights are where they were not fitted.

Source: L2P, arXiv 2604.26365, as the GPH paper's authors reproduced it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..schedule import Schedule
from .causal_linear import CausalLinear

RIDGE = 1e-5
_COLUMNS = 2**18  # of the outputs that are converted to float64 at a time: 100 MiB for 50 steps


class Products(NamedTuple):
    """``[N, N]`` Gram matrices of examples, each the sum over runs and branches."""

    fitted: Tensor
    held_out: Tensor | None = None  # of other examples; older calibrations did not keep it


def gram(outputs: Iterable[Tensor]) -> Tensor:
    """``[N, N]`` float64 products of the outputs of one branch in one full run, one a step.

    Raises:
        ValueError: a value is not finite; the run cannot be used.
    """
    rows = torch.stack([output.detach().flatten().cpu() for output in outputs])
    broken = (~rows.isfinite().all(1)).nonzero()
    if len(broken):
        raise ValueError(f"the output of step {int(broken[0])} is not finite; leave this run out")
    total = torch.zeros(len(rows), len(rows), dtype=torch.float64)
    for part in rows.split(_COLUMNS, dim=1):
        part = part.double()
        total += part @ part.T
    return total


def fit(
    gram: Tensor,
    schedule: Schedule | None = None,
    *,
    ridge: float = RIDGE,
    conditions: Mapping[str, Any] | None = None,
) -> CausalLinear:
    """Weights that predict each output of full runs from earlier ones with the least squares.

    Row t solves ``(A + λI) w = b`` with ``A = G[S, S]``, ``b = G[S, t]`` and
    ``λ = ridge · max(mean(diag A), 1)``.

    Args:
        gram: G, the sum over runs and branches.
        schedule: with one, S are its full steps before t: nothing is predicted from predictions,
            but the weights belong to this schedule. Without, S are all steps before t, as
            published; in a cached run many of these are predictions, which the fit ignores.
        ridge: pulls the weights towards 0.
        conditions: of the runs, kept with the weights.
    """
    n = len(gram)
    if schedule and schedule.num_steps != n:
        raise ValueError(
            f"the outputs are of {n} steps, the schedule has {schedule.num_steps}; "
            "measure runs of this step count"
        )
    usable = schedule.full_steps if schedule else range(n)
    matrix = torch.zeros(n, n, dtype=torch.float64)
    for t in range(1, n):
        steps = [step for step in usable if step < t]
        matrix[t, steps[-1]] = 1
        a, b = gram[steps][:, steps], gram[steps, t]
        pull = ridge * max(a.diag().mean().item(), 1)
        weights = _solve(a + pull * torch.eye(len(steps), dtype=torch.float64), b)
        if weights.isfinite().all():
            matrix[t, steps] = weights
    own = {"schedule": str(schedule)} if schedule else {}
    # Rounded as in a file, so that weights just fitted and loaded ones are the same.
    return CausalLinear(matrix.float(), {**(conditions or {}), **own})


def relative_errors(weights: Tensor, gram: Tensor) -> Tensor:
    """``‖y_t - Σ_j W[t, j] y_j‖² / ‖y_t‖²`` of each step, predicted from the outputs of full runs.

    ``[N]`` float64. Step 0 is never predicted and gets 1, so means leave it out. In a cached run
    some of the y_j are predictions, and errors grow.

    Args:
        gram: of the runs on which it is measured.
    """
    w = weights.double()
    predicted = w @ gram
    squares = gram.diag() - 2 * predicted.diag() + (predicted * w).sum(1)
    return squares.clamp_min(0) / gram.diag()  # rounding can take a perfect fit below 0


def compounded_errors(weights: Tensor, gram: Tensor, schedule: Schedule) -> Tensor:
    """``relative_errors`` of a cached run, which predicts from predictions; 0 at full steps.

    They do not show what the model makes of a latent that has drifted.
    """
    combined = torch.eye(len(gram), dtype=torch.float64)  # of the outputs of a full run
    for step in schedule.cached_steps:
        combined[step] = weights[step].double() @ combined
    return relative_errors(combined, gram)


def _solve(a: Tensor, b: Tensor) -> Tensor:
    solution, failed = torch.linalg.solve_ex(a, b)
    # Without a ridge, outputs that depend on each other leave the choice open.
    return torch.linalg.pinv(a) @ b if failed and a.isfinite().all() else solution
