"""Fit of the weights of ``Fitted`` while the cached runs of all examples go on together.

At a cached step n the weights are those that bring the runs closest to the *next state* of their
full runs, from wherever they are, so later steps correct what earlier ones did wrong::

    minimise over w:  Σ_p ‖ x_n + L[n, n] Σ_i w_i v_i + Σ_{j < n} L[n, j] v_j - x*_{n+1} ‖²

v_i are the velocities at the newest full steps of the cached run, x* the states of the full one, L
the sampler's (``Steps``): L[n, n] = σ_{n+1} - σ_n alone for Euler's method. Only full steps
evaluate the model. Ours: the methods that fit weights to the full run's velocities (L2P, arXiv
2604.26365) do not see where the cached run has got to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..policies.fitted import Fitted, Weights
from ..schedule import Schedule
from .steps import Steps

NUM_ANCHORS = 3
RIDGE = 1e-4
_COLUMNS = 2**20  # of the velocities, converted to double precision at once


class ClosedLoop(NamedTuple):
    """Fitted weights, and where the runs end with them."""

    policy: Fitted
    ends: list[Tensor]


def fit(
    schedule: Schedule,
    steps: Steps,
    starts: Sequence[Tensor],
    states: Callable[[int], Sequence[Tensor]],
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]],
    fitted_on: Sequence[int] | None = None,
    num_anchors: int = NUM_ANCHORS,
    ridge: float = RIDGE,
) -> ClosedLoop:
    """Run all examples under a schedule with a sampler's steps and fit the weights on the way.

    Args:
        steps: of the sampler, N of them.
        starts: state 0 of each run, examples in any shape.
        states: state n of each full run, in the order of ``starts``.
        velocities: guided velocities at a step, from the states of all runs; evaluates the model.
        fitted_on: numbers of the runs whose states the weights are fitted to; none: all. The
            others go along under these weights, which tells what the weights are worth there.
        num_anchors: full steps that have a weight, at most.
        ridge: pulls the weights towards the newest velocity alone, in units of their mean square.
    """
    chosen = range(len(starts)) if fitted_on is None else fitted_on
    now, full = list(starts), set(schedule.full_steps)
    known: dict[int, list[Tensor]] = {}  # velocities at the full steps that are still used
    made: list[Weights] = []  # of every step, what its velocity is made of
    anchors: list[int] = []  # newest first
    for step, ((_, length), *past) in enumerate(steps.moves):
        shares = [(n, distance / length) for n, distance in past]  # of the velocities before
        if step in full:
            known[step] = list(velocities(step, now))
            anchors = [step, *anchors][:num_anchors]
            made.append(((step, 1.0),))
        else:
            wanted, before = states(step + 1), _mixed(shares, made)
            equations = _Equations(len(anchors))
            for p in chosen:
                target = (wanted[p].double() - now[p].double()) / length
                for n, share in before.items():
                    target -= share * known[n][p].double()
                equations.add([known[n][p] for n in anchors], target)
            made.append(tuple(zip(anchors, equations.solve(ridge), strict=True)))
        mixed = _mixed([(step, 1.0), *shares], made)
        for p, state in enumerate(now):
            velocity = sum(share * known[n][p].float() for n, share in mixed.items())
            now[p] = (state.float() + length * velocity).to(state.dtype)
        used = {n for weights in made[steps.oldest_from(step + 1) :] for n, _ in weights}
        known = {n: found for n, found in known.items() if n in used.union(anchors)}
    weights = tuple((n, made[n]) for n in schedule.cached_steps)
    return ClosedLoop(Fitted(str(schedule), weights), now)


def _mixed(shares: Sequence[tuple[int, float]], made: Sequence[Weights]) -> dict[int, float]:
    """Share of each full step's velocity in a sum of shares of the velocities of steps."""
    found: dict[int, float] = {}
    for step, share in shares:
        for full_step, weight in made[step]:
            found[full_step] = found.get(full_step, 0.0) + share * weight
    return found


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
