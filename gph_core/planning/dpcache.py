"""DPCache: the schedule whose jumps predict the features of full runs best.

Source: DPCache, arXiv 2602.22654, as the GPH paper's authors reproduced it. Their program keeps
only the best way to each full step (``greedy`` here); the default is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from ..policies.base import combine
from ..policies.extrapolation import Taylor, TokenTaylor
from .planners import Limits, Plan, cheapest_path, longest_jump, within

FIRST_FULL = 3
JUMP_SHARE = 0.3  # of the run, the longest jump and the longest look back
END_SHARE = 0.8  # of extrapolation in the feature after the last step; the rest is a mean
POLICY = TokenTaylor()


def jump_costs(features: Iterable[Tensor], max_jump: int | None = None) -> Tensor:
    """Cost of each jump in one full run: the summed error of the features skipped.

    Entry ``[a, s, d]`` is the jump from full step s to d where a was full before s::

        Σ_τ ½ mean|X̂_τ - X_τ|,  τ = s + 1 ... d,  X̂ predicted from X at the steps a - 1, a, s

    Step a - 1 stands for the third full step, which the table does not know. The end has no
    feature; X_N is 0.8 of the extrapolation of the last three and 0.2 of their mean. The steps 0,
    1 and 2 are always full: jumps between them are free, all others from 0 and 1 infinite.

    Args:
        features: one for each step, in order, of one branch; for several, average the tables.
        max_jump: bounds d - s and s - a; 0.3 of the run if not given.

    Returns:
        ``[N, N, N + 1]`` float64, infinite where there is no such jump.
    """
    rows = list(features)
    n = len(rows)
    if n < 3:
        raise ValueError(f"costs of jumps need a run of at least 3 steps, got {n}")
    rows.append(_after_the_last(rows))
    reach = published_jump(n) if max_jump is None else max_jump
    costs = torch.full((n, n, n + 1), math.inf, dtype=torch.float64)
    costs[0, 0, 1] = costs[0, 1, 2] = 0
    for s in range(2, n):
        for a in range(max(1, s - reach), s):
            anchors = [rows[step].float() for step in (s, a, a - 1)]
            total = 0.0
            for d in range(s + 1, min(s + reach, n) + 1):
                weights = POLICY.weights((s, a, a - 1), d)
                predicted = combine(anchors[: len(weights)], weights)
                total += (predicted - rows[d].float()).abs().mean().item() / 2
                costs[a, s, d] = total
    return costs


def published_jump(num_steps: int) -> int:
    """The longest jump that the source takes."""
    return max(int(JUMP_SHARE * num_steps), 1)


def plan_dpcache(
    costs: Tensor,
    num_full: int,
    first_full: int = FIRST_FULL,
    *,
    max_jump: int | None = None,
    greedy: bool = False,
) -> Plan:
    """The cheapest schedule with the first steps and the last one full.

    Args:
        costs: mean of ``jump_costs`` over runs.
        max_jump: the longest jump; that of the table if not given.
        greedy: as the reproduced program plans, see ``cheapest_path``.
    """
    table, n = costs.tolist(), len(costs)
    schedule, cost = cheapest_path(
        lambda before, start, end: table[before or 0][start][end],
        n,
        num_full,
        {*range(min(first_full, n)), n - 1},
        longest_jump(costs) if max_jump is None else max_jump,
        greedy=greedy,
    )
    return Plan(schedule, POLICY, cost)


def plan_near_published(costs: Tensor, num_full: int, *, greedy: bool = False) -> Plan:
    """Plan of ``plan_dpcache``, with jumps longer than the source's if these leave no schedule.

    This happens with few full steps in short runs. The first full steps cannot be fewer, see
    ``jump_costs``.
    """
    return within(
        lambda limits: plan_dpcache(
            costs, num_full, limits.first_full, max_jump=limits.max_jump, greedy=greedy
        ),
        [Limits(FIRST_FULL, jump) for jump in (published_jump(len(costs)), None)],
    )


def _after_the_last(rows: list[Tensor]) -> Tensor:
    newest_first = [row.float() for row in rows[:-4:-1]]
    extrapolated = combine(newest_first, Taylor(2).weights((2, 1, 0), 3))
    return END_SHARE * extrapolated + (1 - END_SHARE) * torch.stack(newest_first).mean(0)
