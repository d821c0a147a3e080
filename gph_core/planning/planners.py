"""Schedules from measured costs, without scoring a single run.

A schedule with F full steps is F *jumps*: from each full step to the next one, and from the last
one to the end of the run, the node N. A planner adds up what the jumps cost and finds the schedule
with the smallest sum. ``dpcache`` and ``meancache`` measure such costs on full runs.
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
    """Proposal of a planner; its cost compares with others of the same table only."""

    schedule: Schedule
    policy: Policy
    cost: float
    note: str = ""  # how it departs from what is published, what may go wrong


class Limits(NamedTuple):
    """Limits that a method sets to its schedules."""

    first_full: int  # full steps at the beginning
    max_jump: int | None  # in steps; None: the longest that was measured

    def __str__(self) -> str:
        jumps = "any measured length" if self.max_jump is None else f"at most {self.max_jump} steps"
        return f"{self.first_full} first full steps and jumps of {jumps}"


def within(plan: Callable[[Limits], Plan], limits: Sequence[Limits]) -> Plan:
    """The plan under the first limits that leave one; the first of all are the published ones.

    ``ValueError`` if none of them do.
    """
    published = limits[0]
    for allowed in limits[:-1]:
        try:
            return _noted(plan(allowed), allowed, published)
        except ValueError:
            continue
    return _noted(plan(limits[-1]), limits[-1], published)


def _noted(found: Plan, allowed: Limits, published: Limits) -> Plan:
    if allowed == published:
        return found
    note = f"planned with {allowed}, because the published {published} leave no such schedule"
    return found._replace(note=note)


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

    A dynamic program over the number of full steps and the last two of them, so it is exact:
    what a jump costs may depend on the full step before it, and on nothing earlier. Of schedules
    with equal sums it is the one whose full steps come first in lexicographic order.

    Args:
        cost: of a jump, ``cost(before, start, end)``. ``before`` is the full step before ``start``,
            None where that is step 0. What is not finite rules the jump out.
        max_gap: length of the longest jump in steps.
        greedy: remember the last full step only, with the cheapest way to it. A dearer way that
            would make the next jump cheaper, or possible at all, is lost; with costs that do not
            depend on ``before`` it changes nothing.

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


class MeanCosts:
    """The mean of the cost tables of several runs, entry by entry.

    What is not finite in one run (a jump that cannot be, a value that broke down) is left out of
    the mean; what is finite in none is infinite. ``sums`` and ``counts`` are all of its state.
    """

    def __init__(self, sums: Tensor, counts: Tensor) -> None:
        self.sums, self.counts = sums, counts

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> MeanCosts:
        """The mean of no table yet."""
        return cls(torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.int64))

    def add(self, costs: Tensor) -> None:
        """Take one run in."""
        finite = costs.isfinite()
        self.sums += costs.where(finite, 0)
        self.counts += finite

    def mean(self) -> Tensor:
        """Float64, infinite where no run has a value."""
        return (self.sums / self.counts).where(self.counts > 0, math.inf)
