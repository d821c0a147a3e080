"""Fit of the weights of ``Fitted``, during the cached runs of all examples.

At a cached step n the weights bring the runs as close as possible to the *next state* of their full
runs, from wherever they are, so later steps correct the errors of earlier ones::

    minimise over w:  Σ_p ‖ x_n + L[n, n] Σ_i w_i v_i + Σ_{j < n} L[n, j] v_j - x*_{n+1} ‖²

v_i are the velocities at the newest full steps of the cached run, x* the states of the full one, L
that of the sampler, see ``Steps``; with Euler's method, L[n, n] = σ_{n+1} - σ_n alone. Only full
steps evaluate the model. Weights beyond the bounds of ``policies.weights`` are moved back to them.
Ours: methods that fit weights to the full run's velocities (L2P, arXiv 2604.26365) do not see how
far the cached run has drifted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..policies import weights as bounds
from ..policies.fitted import Fitted
from ..policies.weights import MAX_ANCHORS, Weights
from ..schedule import Schedule
from ..search.prefix import PrefixMemory
from .steps import Steps

NUM_ANCHORS = MAX_ANCHORS
RIDGE = 1e-4
_COLUMNS = 2**20  # of the velocities that are converted to double precision at a time


class ClosedLoop(NamedTuple):
    """Fitted weights, and where the runs end with them."""

    policy: Fitted
    ends: list[Tensor]


@dataclass(frozen=True)
class Course:
    """State of all runs before a step, from which they can go on.

    Args:
        now: states of the runs.
        velocities: those of the full steps that later steps still use.
        made: by step so far, the weights of the full steps in its velocity.
        anchors: full steps that get a weight, newest first.
    """

    step: int
    now: list[Tensor]
    velocities: Mapping[int, list[Tensor]]
    made: list[Weights]
    anchors: list[int]

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors that it keeps alive; courses share velocities."""
        return [*self.now, *(tensor for runs in self.velocities.values() for tensor in runs)]


class Products(NamedTuple):
    """Contribution of one run to the normal equations ``A w = b`` of a step, in plain numbers."""

    a: list[list[float]]
    b: list[float]


def fit(
    schedule: Schedule,
    steps: Steps,
    starts: Sequence[Tensor],
    states: Callable[[int], Sequence[Tensor]],
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]],
    fitted_on: Sequence[int] | None = None,
    num_anchors: int = NUM_ANCHORS,
    ridge: float = RIDGE,
    memory: PrefixMemory[Course] | None = None,
) -> ClosedLoop:
    """Run examples under a schedule and fit the weights on the way.

    Args:
        steps: N steps of the sampler.
        starts: state 0 of each run, examples in any shape.
        states: state n of each full run, in the order of ``starts``.
        velocities: guided velocities at a step, from the states of all runs; evaluates the model.
        fitted_on: numbers of the runs whose states the weights are fitted to; none: all. The others
            run under these weights too, which shows what the weights are worth there.
        num_anchors: largest number of full steps that have a weight.
        ridge: pulls the weights towards the newest velocity alone, in units of their mean square.
        memory: of courses of these runs, under other schedules too; none: always from the start.
    """
    chosen = tuple(range(len(starts)) if fitted_on is None else fitted_on)
    loop = Loop(schedule, steps, states, velocities, chosen, num_anchors)
    course = memory.longest(chosen, schedule) if memory else None
    course = course or Course(0, list(starts), {}, [], [])
    while course.step < len(steps.moves):
        weights: Sequence[float] = ()
        if course.step not in schedule.full_steps:
            before = [course.made[n] for n in schedule.cached_steps if n < course.step]
            wanted = solved(loop.products(course), ridge)
            weights = bounds.confined(wanted, before, schedule.num_cached, schedule.num_steps)
        course = loop.after(course, weights)
        if memory and memory.wants(chosen, schedule, course.step):
            memory.keep(chosen, schedule, course)
    weights_of = tuple((n, course.made[n]) for n in schedule.cached_steps)
    return ClosedLoop(Fitted(str(schedule), weights_of), course.now)


def solved(
    products: Sequence[Products], ridge: float = RIDGE, aim: Sequence[float] = ()
) -> list[float]:
    """Weights of a step, from the products of all runs that they are fitted to, in their order.

    Where the products determine none, the weights are those of the aim.

    Args:
        ridge: pulls the weights towards the aim, in units of the velocities' mean square.
        aim: by default the newest velocity alone.
    """
    a, b = (
        torch.stack([torch.tensor(part, dtype=torch.float64) for part in parts]).sum(0)
        for parts in zip(*products, strict=True)
    )
    wanted = torch.zeros_like(b)
    given = aim or (1.0,)
    wanted[: len(given)] = torch.tensor(given, dtype=torch.float64)
    pull = ridge * a.diag().mean() * torch.eye(len(wanted), dtype=torch.float64)
    change, failed = torch.linalg.solve_ex(a + pull, b - a @ wanted)
    weights = wanted if failed or not change.isfinite().all() else wanted + change
    return list(map(bounds.rounded, weights.tolist()))


@dataclass(frozen=True)
class Loop:
    """Arguments of ``fit``, and the work at one step."""

    schedule: Schedule
    steps: Steps
    states: Callable[[int], Sequence[Tensor]]
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]]
    chosen: Sequence[int]
    num_anchors: int = NUM_ANCHORS

    def products(self, course: Course) -> list[Products]:
        """Products of the chosen runs at a cached step."""
        length, shares = self._move(course.step)
        before = _mixed(shares, course.made)
        wanted, products = self.states(course.step + 1), []
        for p in self.chosen:
            target = (wanted[p].double() - course.now[p].double()) / length
            for n, share in before.items():
                target -= share * course.velocities[n][p].double()
            products.append(_products([course.velocities[n][p] for n in course.anchors], target))
        return products

    def after(self, course: Course, weights: Sequence[float]) -> Course:
        """All runs one step later; ``weights`` are those of the anchors at a cached step."""
        step, kept, anchors = course.step, dict(course.velocities), course.anchors
        length, shares = self._move(step)
        if step in self.schedule.full_steps:
            kept[step] = list(self.velocities(step, list(course.now)))
            anchors = [step, *anchors][: self.num_anchors]
            made = [*course.made, ((step, 1.0),)]
        else:
            made = [*course.made, tuple(zip(anchors, weights, strict=True))]
        mixed = _mixed([(step, 1.0), *shares], made)
        now = []
        for p, state in enumerate(course.now):
            velocity = sum(share * kept[n][p].float() for n, share in mixed.items())
            now.append((state.float() + length * velocity).to(state.dtype))
        used = {n for weights in made[self.steps.oldest_from(step + 1) :] for n, _ in weights}
        kept = {n: runs for n, runs in kept.items() if n in used.union(anchors)}
        return Course(step + 1, now, kept, made, anchors)

    def _move(self, step: int) -> tuple[float, list[tuple[int, float]]]:
        """Length of a step, and its shares that the velocities of earlier steps contribute."""
        (_, length), *past = self.steps.moves[step]
        return length, [(n, distance / length) for n, distance in past]


def _mixed(shares: Sequence[tuple[int, float]], made: Sequence[Weights]) -> dict[int, float]:
    """Share of each full step's velocity in a weighted sum of the velocities of steps."""
    total: dict[int, float] = defaultdict(float)
    for step, share in shares:
        for full_step, weight in made[step]:
            total[full_step] += share * weight
    return total


def _products(velocities: Sequence[Tensor], target: Tensor) -> Products:
    rows = torch.stack([velocity.flatten() for velocity in velocities])
    a = torch.zeros(len(rows), len(rows), dtype=torch.float64)
    b = torch.zeros(len(rows), dtype=torch.float64)
    parts = zip(rows.split(_COLUMNS, 1), target.flatten().split(_COLUMNS), strict=True)
    for part, wanted in parts:
        part, wanted = part.double(), wanted.double()
        a += (part @ part.T).cpu()
        b += (part @ wanted).cpu()
    return Products(a.tolist(), b.tolist())
