"""Fits of weights to a few full runs; ``closed_loop`` has the equations.

With so few runs the equations alone say too little. They are held at the weights of a run
without a path, as strongly as leave-one-out says: the error of each run under weights of the others
is a closed form of the products that are there anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..calibration.closed_loop import Course, Loop, Products, solved
from ..calibration.steps import Steps
from ..policies import weights as bounds
from ..policies.fitted import Fitted
from ..policies.weights import Weights
from ..schedule import Schedule


class Strength(NamedTuple):
    """How far a fit is held at the weights that it is pulled towards.

    Args:
        pull: in units of the velocities' mean square; it holds what the runs hardly determine.
        share: of the way from there that is gone in the end; it holds all alike.
    """

    pull: float
    share: float


PULLS = tuple(10.0 ** (half / 2) for half in range(-12, 3))  # those that are compared
SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
ALONE = Strength(1e-3, 1.0)  # where a single run leaves none out

# Weights of the full steps ``anchors`` at a cached step, newest first.
Toward = Callable[[int, Sequence[int]], Sequence[float]]


class Runs(NamedTuple):
    """A few full runs, and how to go on from their states.

    Args:
        steps: N steps of the sampler.
        state: of a full run, ``[1, ...]``, by the number of the run and a step.
        velocities: guided velocities of the first runs at a step, from their states; evaluates the
            model.
        toward: weights that fits are pulled towards.
    """

    steps: Steps
    state: Callable[[int, int], Tensor]
    velocities: Callable[[int, Sequence[Tensor]], Sequence[Tensor]]
    toward: Toward


class Fit(NamedTuple):
    """Weights that are fitted to some runs, and where the runs end."""

    policy: Fitted
    ends: list[Tensor]


def pooled(schedule: Schedule, runs: Runs, count: int) -> Fit:
    """Go on with the first runs, under weights that are fitted to all of them."""
    numbers = range(count)

    def states(step: int) -> list[Tensor]:
        return [runs.state(run, step) for run in numbers]

    loop = Loop(schedule, runs.steps, states, runs.velocities, numbers)
    course = Course(0, states(0), {}, [], [])
    while course.step < schedule.num_steps:
        weights: Sequence[float] = ()
        if course.step not in schedule.full_steps:
            fits = _Fits.of(schedule, runs, course, loop.products(course))
            weights = fits.weights(numbers, course.made)
        course = loop.after(course, weights)
    return Fit(_policy(schedule, course.made), course.now)


def crossed(schedule: Schedule, runs: Runs, count: int) -> Fit:
    """Go on with the first runs together, each under weights that are fitted to the others.

    So every run meets weights that know nothing of it, as later runs will. The weights that are
    returned are fitted to all, from the states on this way.
    """
    numbers = range(count)
    others = [[other for other in numbers if other != run] or [run] for run in numbers]
    found: list[Sequence[Tensor]] = [()]  # velocities of all runs at the step at hand

    def loop_of(run: int) -> Loop:
        def states(step: int) -> list[Tensor]:
            return [runs.state(run, step)]

        return Loop(schedule, runs.steps, states, lambda *_: [found[0][run]], (0,))

    loops = [loop_of(run) for run in numbers]
    courses = [Course(0, [runs.state(run, 0)], {}, [], []) for run in numbers]
    made: list[Weights] = []  # from all runs
    for step in range(schedule.num_steps):
        used: list[Sequence[float]] = [()] * count
        if step in schedule.full_steps:
            found[0] = runs.velocities(step, [course.now[0] for course in courses])
            made.append(((step, 1.0),))
        else:
            products = [loops[run].products(courses[run])[0] for run in numbers]
            fits = _Fits.of(schedule, runs, courses[0], products)
            used = [fits.weights(others[run], courses[run].made) for run in numbers]
            made.append(tuple(zip(courses[0].anchors, fits.weights(numbers, made), strict=True)))
        courses = [loops[run].after(courses[run], used[run]) for run in numbers]
    return Fit(_policy(schedule, made), [course.now[0] for course in courses])


class _Fits(NamedTuple):
    """Fits at a cached step, from the products of all runs."""

    schedule: Schedule
    step: int
    products: Sequence[Products]
    aim: Sequence[float]
    strength: Strength

    @classmethod
    def of(
        cls, schedule: Schedule, runs: Runs, course: Course, products: Sequence[Products]
    ) -> _Fits:  # fmt: skip
        aim = runs.toward(course.step, course.anchors)
        aim = [*aim, *[0.0] * (len(course.anchors) - len(aim))]
        return cls(schedule, course.step, products, aim, best_strength(products, aim))

    def weights(self, some: Iterable[int], made: Sequence[Weights]) -> list[float]:
        """Weights that are fitted to some of the runs, after those made before."""
        pull, share = self.strength
        found = solved([self.products[run] for run in some], pull, self.aim)
        wanted = [a + share * (w - a) for a, w in zip(self.aim, found, strict=True)]
        before = [made[n] for n in self.schedule.cached_steps if n < self.step]
        schedule = self.schedule
        return bounds.confined(
            list(map(bounds.rounded, wanted)), before, schedule.num_cached, schedule.num_steps
        )  # fmt: skip


def best_strength(products: Sequence[Products], aim: Sequence[float]) -> Strength:
    """The strength under which weights of the other runs leave the smallest errors."""
    if len(products) == 1:
        return ALONE
    a, b = (
        torch.tensor(part, dtype=torch.float64) for part in list(zip(*products, strict=True))[:2]
    )
    goal = torch.tensor(aim, dtype=torch.float64)
    pulls, shares = (torch.tensor(part, dtype=torch.float64) for part in (PULLS, SHARES))
    others_a, others_b = a.sum(0) - a, b.sum(0) - b
    size = others_a.diagonal(dim1=1, dim2=2).mean(1)
    ridge = (
        pulls[:, None, None] * size[:, None, None, None] * torch.eye(len(goal), dtype=torch.float64)
    )
    wanted = (others_b - others_a @ goal)[:, None, :, None]
    change, _ = torch.linalg.solve_ex(others_a[:, None] + ridge, wanted)  # [runs, pulls, k, 1]
    weights = goal + shares[:, None] * change.transpose(2, 3)  # [runs, pulls, shares, k]
    squares = torch.einsum("rpsi,rij,rpsj->rps", weights, a, weights)
    errors = (squares - 2 * torch.einsum("rpsi,ri->rps", weights, b)).sum(0)
    place = int(torch.where(errors.isfinite(), errors, torch.inf).argmin())
    return Strength(PULLS[place // len(SHARES)], SHARES[place % len(SHARES)])


def _policy(schedule: Schedule, made: Sequence[Weights]) -> Fitted:
    return Fitted(str(schedule), tuple((n, made[n]) for n in schedule.cached_steps))
