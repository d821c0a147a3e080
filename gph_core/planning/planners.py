"""Schedules from measured costs, without scoring any run.

A schedule with F full steps has F *jumps*: from each full step to the next one, and from the last
one to the end of the run, N. A planner finds the schedule whose jumps cost least in sum.
``dpcache`` and ``meancache`` measure such costs on full runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..policies.base import Policy
from ..schedule import Schedule, ScheduleSpace

Cost = Callable[[int | None, int, int], float]
Ways = dict[tuple[int, ...], tuple[float, tuple[int, ...]]]  # by their last nodes; with their sums


class Plan(NamedTuple):
    """Proposal of a planner; its cost is comparable within one table only."""

    schedule: Schedule
    policy: Policy
    cost: float
    note: str = ""  # where it departs from the published method, and what may go wrong


class Limits(NamedTuple):
    """Limits of a method's schedules."""

    first_full: int  # full steps at the beginning
    max_jump: int | None  # in steps; None: the longest that was measured

    def __str__(self) -> str:
        jumps = "any measured length" if self.max_jump is None else f"at most {self.max_jump} steps"
        return f"{self.first_full} first full steps and jumps of {jumps}"


def within(plan: Callable[[Limits], Plan], limits: Sequence[Limits]) -> Plan:
    """The plan under the first limits that leave one; ``ValueError`` if none do.

    Args:
        limits: the published ones first.
    """
    published = limits[0]
    for allowed in limits[:-1]:
        try:
            return _noted(plan(allowed), allowed, published)
        except ValueError:
            continue
    return _noted(plan(limits[-1]), limits[-1], published)


def _noted(plan: Plan, allowed: Limits, published: Limits) -> Plan:
    if allowed == published:
        return plan
    note = f"planned with {allowed}, because the published {published} leave no such schedule"
    return plan._replace(note=note)


def cheapest_path(
    cost: Cost,
    num_steps: int,
    num_full: int,
    required_full: Collection[int] = (),
    max_gap: int | None = None,
    *,
    greedy: bool = False,
) -> tuple[Schedule, float]:
    """The schedule whose jumps cost least in sum, and this sum.

    A dynamic program over the number of full steps and the last two of them. It is exact, as the
    cost of a jump may depend on the full step before it, but on nothing earlier. Of schedules with
    equal sums it takes the one whose full steps come first in lexicographic order.

    Args:
        cost: that of a jump, ``cost(before, start, end)``. ``before`` is the full step before
            ``start``, None if that is step 0. A cost that is not finite rules the jump out.
        max_gap: length of the longest jump in steps.
        greedy: keep only the cheapest way to each last full step. This loses dearer ways that would
            make the next jump cheaper or possible; if costs do not depend on ``before``, it changes
            nothing.

    Raises:
        ValueError: there is no such schedule.
    """
    required = ScheduleSpace(num_steps, num_steps - num_full, tuple(required_full)).required_full
    gap = num_steps if max_gap is None else max_gap
    best: Ways = {(0,): (0.0, (0,))}
    for jump in range(1, num_full + 1):
        reached: Ways = {}
        for total, path in best.values():
            start, before = path[-1], path[-2] if jump > 1 else None
            next_required = next((step for step in required if step > start), num_steps)
            # The last jump ends the run, no other does.
            first, last = (num_steps,) * 2 if jump == num_full else (start + 1, num_steps - 1)
            for end in range(first, min(last, next_required, start + gap) + 1):
                way = (total + cost(before, start, end), (*path, end))
                state = way[1][-1:] if greedy else way[1][-2:]
                if math.isfinite(way[0]) and way < reached.get(state, (math.inf,)):
                    reached[state] = way
        best = reached
    if not best:
        limit = "" if max_gap is None else f" in jumps of at most {max_gap} steps"
        raise ValueError(
            f"there is no schedule of {num_steps} steps with {num_full} full ones{limit} while "
            f"steps {', '.join(map(str, required))} are full; ask for more full steps"
        )
    total, path = min(best.values())
    return Schedule(path[:-1], num_steps), total


def longest_jump(costs: Tensor) -> int:
    """Length of the longest jump with a cost; the last two dimensions are its start and end."""
    *_, starts, ends = costs.isfinite().nonzero(as_tuple=True)
    return int((ends - starts).max()) if len(ends) else 0


def mean_costs(tables: Sequence[Tensor]) -> Tensor:
    """The mean of the cost tables of several runs, entry by entry, in float64.

    Costs that are not finite (of impossible jumps, or as a value broke down) are left out of the
    mean, which is infinite where no run has a finite one.
    """
    sums = torch.zeros_like(tables[0], dtype=torch.float64)
    counts = torch.zeros_like(sums)
    for costs in tables:
        is_finite = costs.isfinite()
        sums += costs.where(is_finite, 0)
        counts += is_finite
    return (sums / counts).where(counts > 0, math.inf)
