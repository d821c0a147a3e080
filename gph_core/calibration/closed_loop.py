"""Fit of the weights of ``Fitted`` while the cached runs of all examples go on together.

At a cached step n the weights are those that bring the runs closest to the *next state* of their
full runs, from wherever they are, so later steps correct what earlier ones did wrong::

    minimise over w:  Σ_p ‖ x_n + L[n, n] Σ_i w_i v_i + Σ_{j < n} L[n, j] v_j - x*_{n+1} ‖²

v_i are the velocities at the newest full steps of the cached run, x* the states of the full one, L
the sampler's (``Steps``): L[n, n] = σ_{n+1} - σ_n alone for Euler's method. Only full steps
evaluate the model. Weights beyond the bounds of ``policies.weights`` are brought back to them.
Ours: the methods that fit weights to the full run's velocities (L2P, arXiv 2604.26365) do not see
where the cached run has got to.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
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
_COLUMNS = 2**20  # of the velocities, converted to double precision at once


class ClosedLoop(NamedTuple):
    """Fitted weights, and where the runs end with them."""

    policy: Fitted
    ends: list[Tensor]


@dataclass(frozen=True)
class Course:
    """All runs right before a step: what is needed to go on from there.

    Args:
        now: states of the runs.
        known: velocities at the full steps that are still used.
        made: of every step so far, what its velocity is made of.
        anchors: full steps that get a weight, newest first.
    """

    step: int
    now: list[Tensor]
    known: Mapping[int, list[Tensor]]
    made: list[Weights]
    anchors: list[int]

    @property
    def tensors(self) -> list[Tensor]:
        """Everything it keeps alive; courses share velocities."""
        return [*self.now, *(tensor for found in self.known.values() for tensor in found)]


class Products(NamedTuple):
    """What one run adds to the normal equations ``A w = b`` of a step; plain numbers."""

    a: list[list[float]]
    b: list[float]


# Gives the products of its own runs at each cached step and takes the weights of all.
Fitting = Generator[list[Products], Sequence[float], ClosedLoop]


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
        memory: of courses of these runs, under other schedules too; none: always from the start.
    """
    chosen = tuple(range(len(starts)) if fitted_on is None else fitted_on)
    course = memory.longest(chosen, schedule) if memory else None
    going = fitting(
        schedule, steps, starts, states, velocities, chosen, num_anchors, memory, course
    )
    return finished(going, ridge)


def finished(going: Fitting, ridge: float = RIDGE) -> ClosedLoop:
    """The end of a fit whose runs are all here."""
    try:
        products = next(going)
        while True:
            products = going.send(solved(products, ridge))
    except StopIteration as end:
        return end.value


def fitting(
    schedule: Schedule,
    steps: Steps,
    starts: Sequence[Tensor],
    states: Callable[[int], Sequence[Tensor]],
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]],
    chosen: tuple[int, ...],
    num_anchors: int = NUM_ANCHORS,
    memory: PrefixMemory[Course] | None = None,
    course: Course | None = None,
    name: Hashable = None,
) -> Fitting:
    """Do the same for some of the runs of a fit, whose others may be in other processes.

    Args:
        chosen: numbers of the runs here whose states the weights are fitted to.
        course: where to begin; none: at the start.
        name: of the fit's courses in the memory; none: ``chosen``. Where other runs are elsewhere,
            it has to say to which of all the weights are fitted.
    """
    name = chosen if name is None else name
    loop = _Loop(schedule, steps, states, velocities, chosen, num_anchors)
    course = course or Course(0, list(starts), {}, [], [])
    while course.step < len(steps.moves):
        weights: Sequence[float] = ()
        if course.step not in schedule.full_steps:
            before = [course.made[n] for n in schedule.cached_steps if n < course.step]
            found = yield loop.products(course)
            weights = bounds.confined(found, before, schedule.num_cached, schedule.num_steps)
        course = loop.after(course, weights)
        if memory and memory.wants(name, schedule, course.step):
            memory.keep(name, schedule, course)
    found = tuple((n, course.made[n]) for n in schedule.cached_steps)
    return ClosedLoop(Fitted(str(schedule), found), course.now)


def solved(products: Sequence[Products], ridge: float = RIDGE) -> list[float]:
    """Weights of a step, from the products of all runs that they are fitted to, in their order.

    They are those of the newest velocity alone where there is nothing to tell them by.
    """
    a, b = (
        torch.stack([torch.tensor(part, dtype=torch.float64) for part in parts]).sum(0)
        for parts in zip(*products, strict=True)
    )
    reuse = torch.zeros_like(b)
    reuse[0] = 1
    pull = ridge * a.diag().mean() * torch.eye(len(reuse), dtype=torch.float64)
    change, failed = torch.linalg.solve_ex(a + pull, b - a @ reuse)
    found = reuse if failed or not change.isfinite().all() else reuse + change
    return list(map(bounds.rounded, found.tolist()))


@dataclass(frozen=True)
class _Loop:
    """Arguments of ``fitting``."""

    schedule: Schedule
    steps: Steps
    states: Callable[[int], Sequence[Tensor]]
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]]
    chosen: Sequence[int]
    num_anchors: int

    def products(self, course: Course) -> list[Products]:
        """Products of the chosen runs at a cached step."""
        length, shares = self._move(course.step)
        before = _mixed(shares, course.made)
        wanted, found = self.states(course.step + 1), []
        for p in self.chosen:
            target = (wanted[p].double() - course.now[p].double()) / length
            for n, share in before.items():
                target -= share * course.known[n][p].double()
            found.append(_products([course.known[n][p] for n in course.anchors], target))
        return found

    def after(self, course: Course, weights: Sequence[float]) -> Course:
        """All runs one step later; ``weights``: of the anchors, if the step is cached."""
        step, known, anchors = course.step, dict(course.known), course.anchors
        length, shares = self._move(step)
        if step in self.schedule.full_steps:
            known[step] = list(self.velocities(step, list(course.now)))
            anchors = [step, *anchors][: self.num_anchors]
            made = [*course.made, ((step, 1.0),)]
        else:
            made = [*course.made, tuple(zip(anchors, weights, strict=True))]
        mixed = _mixed([(step, 1.0), *shares], made)
        now = []
        for p, state in enumerate(course.now):
            velocity = sum(share * known[n][p].float() for n, share in mixed.items())
            now.append((state.float() + length * velocity).to(state.dtype))
        used = {n for weights in made[self.steps.oldest_from(step + 1) :] for n, _ in weights}
        known = {n: found for n, found in known.items() if n in used.union(anchors)}
        return Course(step + 1, now, known, made, anchors)

    def _move(self, step: int) -> tuple[float, list[tuple[int, float]]]:
        """Length of a step, and shares of it by which the velocities of steps before move it."""
        (_, length), *past = self.steps.moves[step]
        return length, [(n, distance / length) for n, distance in past]


def _mixed(shares: Sequence[tuple[int, float]], made: Sequence[Weights]) -> dict[int, float]:
    """Share of each full step's velocity in a sum of shares of the velocities of steps."""
    found: dict[int, float] = {}
    for step, share in shares:
        for full_step, weight in made[step]:
            found[full_step] = found.get(full_step, 0.0) + share * weight
    return found


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
