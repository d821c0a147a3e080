"""Fit of the weights of ``Fitted`` while the cached runs of all examples go on together.

At a cached step n the weights are those that bring the runs closest to the *next state* of their
full runs, from wherever they are, so later steps correct what earlier ones did wrong::

    minimise over w:  Σ_p ‖ x_n + (σ_{n+1} - σ_n) Σ_i w_i v_i - x*_{n+1} ‖²

v_i are the velocities at the newest full steps of the cached run, x* the states of the full one.
Only full steps evaluate the model. Ours: the methods that fit weights to the full run's velocities
(L2P, arXiv 2604.26365) do not see where the cached run has got to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..policies.fitted import Fitted, Weights
from ..schedule import Schedule

NUM_ANCHORS = 3
RIDGE = 1e-4
_COLUMNS = 2**20  # of the velocities, converted to double precision at once


class ClosedLoop(NamedTuple):
    """Fitted weights, and where the runs end with them."""

    policy: Fitted
    ends: list[Tensor]


def fit(
    schedule: Schedule,
    sigmas: Sequence[float],
    starts: Sequence[Tensor],
    states: Callable[[int], Sequence[Tensor]],
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]],
    fitted_on: Sequence[int] | None = None,
    num_anchors: int = NUM_ANCHORS,
    ridge: float = RIDGE,
) -> ClosedLoop:
    """Run all examples under a schedule with Euler's steps and fit the weights on the way.

    Args:
        sigmas: ``N + 1`` noise levels.
        starts: state 0 of each run, examples in any shape.
        states: state n of each full run, in the order of ``starts``.
        velocities: guided velocities at a step, from the states of all runs; evaluates the model.
        fitted_on: numbers of the runs whose states the weights are fitted to; none: all. The
            others go along under these weights, which tells what the weights are worth there.
        num_anchors: full steps that have a weight, at most.
        ridge: pulls the weights towards the newest velocity alone, in units of their mean square.
    """
    chosen = range(len(starts)) if fitted_on is None else fitted_on
    now, anchors = list(starts), []  # of each full step, newest first: its number, and velocities
    weights: list[tuple[int, Weights]] = []
    full = set(schedule.full_steps)
    for step in range(schedule.num_steps):
        length = sigmas[step + 1] - sigmas[step]
        if step in full:
            anchors = [(step, list(velocities(step, now))), *anchors][:num_anchors]
            used: Weights = ((step, 1.0),)
        else:
            wanted = states(step + 1)
            equations = _Equations(len(anchors))
            for p in chosen:
                target = (wanted[p].double() - now[p].double()) / length
                equations.add([found[p] for _, found in anchors], target)
            solved = equations.solve(ridge)
            used = tuple((n, w) for (n, _), w in zip(anchors, solved, strict=True))
            weights.append((step, used))
        moved = []
        for p, state in enumerate(now):
            velocity = sum(w * anchors[i][1][p].float() for i, (_, w) in enumerate(used))
            moved.append((state.float() + length * velocity).to(state.dtype))
        now = moved
    return ClosedLoop(Fitted(str(schedule), tuple(weights)), now)


class _Equations:
    """Normal equations of one step, ``A w = b`` with the products of the velocities."""

    def __init__(self, count: int) -> None:
        self._a = torch.zeros(count, count, dtype=torch.float64)
        self._b = torch.zeros(count, dtype=torch.float64)

    def add(self, velocities: Sequence[Tensor], target: Tensor) -> None:
        rows = torch.stack([velocity.flatten() for velocity in velocities])
        parts = zip(rows.split(_COLUMNS, 1), target.flatten().split(_COLUMNS), strict=True)
        for part, wanted in parts:
            part, wanted = part.double(), wanted.double()
            self._a += (part @ part.T).cpu()
            self._b += (part @ wanted).cpu()

    def solve(self, ridge: float) -> list[float]:
        """Weights; of the newest velocity alone where there is nothing to tell them by."""
        reuse = torch.zeros_like(self._b)
        reuse[0] = 1
        pull = ridge * self._a.diag().mean() * torch.eye(len(reuse), dtype=torch.float64)
        change, failed = torch.linalg.solve_ex(self._a + pull, self._b - self._a @ reuse)
        found = reuse if failed or not change.isfinite().all() else reuse + change
        # As a golden path keeps them.
        return [float(f"{weight:.9g}") for weight in found.tolist()]
