"""MeanCache: the schedule whose jumps stay closest to the mean velocities of full runs.

Source: MeanCache, arXiv 2601.19961, with the constants of the GPH paper's authors, who published
the only program of the search. Unlike there, a jump to the next step is free, as it is computed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..policies.mean_velocity import MeanVelocity
from .planners import Limits, Plan, cheapest_path, longest_jump, within

SPANS = (2, 3, 4, 5)
MAX_GAP = 15
PEAK_POWER = 4  # γ; above 1 it prefers several small errors to a large one
FIRST_FULL = 5


def edge_costs(
    states: Sequence[Tensor],
    velocities: Sequence[Tensor],
    sigmas: Sequence[float],
    max_gap: int = MAX_GAP,
) -> Tensor:
    """Cost of each jump in one full run, for each span of ``MeanVelocity``.

    Entry ``[i, s, d]`` is the jump from full step s to d with span k = ``SPANS[i]``, r = s - k::

        J = (z_s - z_r - (σ_s - σ_r) v_r) / (σ_s - σ_r)²
        mean|(z_d - z_s) / (σ_d - σ_s) - v_s - (σ_d - σ_s) J|

    It is infinite where r < 0, so any plan has a full step after steps 0 and 1, before which no
    span fits. Jumps to the next step cost 0 with every span.

    Args:
        states: N + 1 latents z, before each step and after the last.
        velocities: N guided velocities v.
        sigmas: N + 1 noise levels.
        max_gap: the longest jump.

    Returns:
        ``[spans, N, N + 1]`` float64.
    """
    n = len(velocities)
    if (len(states), len(sigmas)) != (n + 1, n + 1):
        raise ValueError(
            f"{n} velocities need {n + 1} states and noise levels, "
            f"got {len(states)} and {len(sigmas)}"
        )
    sigma = torch.tensor(sigmas, dtype=torch.float64)
    costs = torch.full((len(SPANS), n, n + 1), math.inf, dtype=torch.float64)
    for s in range(n):
        end = min(s + max_gap, n) + 1
        z_s, v_s = _flat(states[s]), _flat(velocities[s])
        z = torch.stack([_flat(state) for state in states[s + 1 : end]])
        ahead = (sigma[s + 1 : end] - sigma[s])[:, None]
        missed = (z - z_s) / ahead - v_s
        for i, span in enumerate(SPANS):
            r = s - span
            if r >= 0:
                back = sigma[s] - sigma[r]
                slope = (z_s - _flat(states[r]) - back * _flat(velocities[r])) / back**2
                costs[i, s, s + 1 : end] = (missed - ahead * slope).abs().mean(1)
        costs[:, s, s + 1] = 0
    return costs


def plan_meancache(
    costs: Tensor,
    num_full: int,
    first_full: int = FIRST_FULL,
    power: float = PEAK_POWER,
    *,
    max_gap: int | None = None,
) -> Plan:
    """The schedule with the smallest Σ cost^power, the first steps and the last one full.

    Each jump takes its cheapest span, the shortest of equal ones, as do the cached steps in it.

    Args:
        costs: mean of ``edge_costs`` over runs.
        max_gap: the longest jump; that of the table if not given.
    """
    n = costs.shape[1]
    lowest, choice = costs.min(0)
    table = (lowest**power).tolist()
    schedule, cost = cheapest_path(
        lambda _before, start, end: table[start][end],
        n,
        num_full,
        {*range(min(first_full, n)), n - 1},
        longest_jump(lowest) if max_gap is None else max_gap,
    )
    spans = tuple(
        (step, SPANS[int(choice[start, end])])
        for start, end in itertools.pairwise((*schedule.full_steps, n))
        for step in range(start + 1, end)
    )
    return Plan(schedule, MeanVelocity(spans=spans), cost)


def plan_near_published(costs: Tensor, num_full: int) -> Plan:
    """Plan of ``plan_meancache``, with other limits if the source's leave no schedule.

    First fewer first full steps are tried, then longer jumps too.
    """
    # With fewer than three no span would fit, see ``edge_costs``.
    fewer = [Limits(first, MAX_GAP) for first in range(FIRST_FULL, 2, -1)]
    return within(
        lambda limits: plan_meancache(costs, num_full, limits.first_full, max_gap=limits.max_jump),
        [*fewer, Limits(3, None)],
    )


def _flat(tensor: Tensor) -> Tensor:
    """In double precision on the CPU: not every accelerator has it, and latents are small."""
    return tensor.detach().flatten().to("cpu", torch.float64)
