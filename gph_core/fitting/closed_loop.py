"""Fit of the weights of ``Fitted``, during the cached runs of all examples.

At a cached step n the weights bring the runs as close as possible to the *next state* of their full
runs, from wherever they are, so later steps correct the errors of earlier ones::

    minimise over w:  Σ_p ‖ x_n + L[n, n] Σ_i w_i v_i + Σ_{j < n} L[n, j] v_j - x*_{n+1} ‖² / r_p

for each channel of the latent. v_i are the velocities at the newest full steps of the cached run,
after guidance and of the second prompt, x* the states of the full run, r_p the error that is left
if the newest one is repeated, L that of the sampler, see ``Steps``; with Euler's method, L[n, n] =
σ_{n+1} - σ_n alone. ``least_squares`` says how strongly the weights are held. Only full steps
evaluate the model. Weights beyond the bounds of ``policies.weights`` are moved back to them.
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
from ..policies.weights import GUIDED, MOST_TERMS, SECOND, Term, Weights
from ..schedule import Schedule
from .least_squares import Products, StepFit
from .steps import Steps

FIT = 2  # number of this way to fit; a study keeps no scores of another one
_COLUMNS = 2**20  # numbers of a velocity that are converted to double precision at a time

# Weights of the guided velocities of some full steps at a cached step, newest first.
Toward = Callable[[int, Sequence[int]], Sequence[float]]


def repeated(step: int, anchors: Sequence[int]) -> Sequence[float]:
    """The newest velocity alone."""
    return [1.0]


class ClosedLoop(NamedTuple):
    """Fitted weights, and where the runs end with them."""

    policy: Fitted
    ends: list[Tensor]


@dataclass(frozen=True)
class Course:
    """State of all runs before a step, from which they can go on.

    Args:
        now: states of the runs, ``[1, C, ...]``.
        velocities: of each run ``[1 or 2, C, ...]``, at the full steps that later steps still use.
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


def fit(
    schedule: Schedule,
    steps: Steps,
    states: Callable[[int], Sequence[Tensor]],
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]],
    toward: Toward = repeated,
) -> ClosedLoop:
    """Run examples under a schedule and fit the weights on the way.

    Args:
        steps: N steps of the sampler.
        states: state n of each full run, ``[1, C, ...]``.
        velocities: of all runs at a step, from their states: guided ones, and behind them, where
            the guider has one, those of the second prompt; evaluates the model.
        toward: weights that the fits are pulled towards.
    """
    loop = Loop(schedule, steps, states, velocities)
    course = Course(0, list(states(0)), {}, [], [])
    while course.step < len(steps.moves):
        weights: Weights = ()
        if course.step not in schedule.full_steps:
            fits = loop.fits(course, loop.products(course), toward)
            weights = loop.weights(course, fits.weights(range(len(course.now))), course.made)
        course = loop.after(course, weights)
    return ClosedLoop(policy_of(schedule, course.made), course.now)


def policy_of(schedule: Schedule, made: Sequence[Weights]) -> Fitted:
    """The policy of the weights of all steps."""
    return Fitted(str(schedule), tuple((n, made[n]) for n in schedule.cached_steps))


@dataclass(frozen=True)
class Loop:
    """Arguments of ``fit``, and the work at one step."""

    schedule: Schedule
    steps: Steps
    states: Callable[[int], Sequence[Tensor]]
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]]

    def products(self, course: Course) -> list[Products]:
        """Products of the runs at a cached step."""
        length, shares = self._move(course.step)
        before = _mixed(shares, course.made)
        known, wanted, products = self._known(course), self.states(course.step + 1), []
        for p in range(len(course.now)):
            target = (wanted[p].double() - course.now[p].double()) / length
            for (n, stream), share in before.items():
                velocity = course.velocities[n][p][stream : stream + 1]
                target -= _by_channel(share, velocity) * velocity.double()
            products.append(_products([course.velocities[n][p][s] for n, s in known], target[0]))
        return products

    def fits(self, course: Course, products: Sequence[Products], toward: Toward) -> StepFit:
        """Fits of the weights of a cached step."""
        aim = [*toward(course.step, course.anchors)]
        return StepFit.of(products, [*aim, *[0.0] * (len(course.anchors) - len(aim))])

    def weights(self, course: Course, found: Tensor, made: Sequence[Weights]) -> Weights:
        """The weights ``[k, C]`` of a fit within their bounds, after those made before."""
        schedule = self.schedule
        before = [made[n] for n in schedule.cached_steps if n < course.step]
        rows = bounds.confined(found.numpy(), before, schedule.num_cached, schedule.num_steps)
        pairs = zip(self._known(course), rows.tolist(), strict=False)  # fewer if some are dropped
        return tuple(Term(n, tuple(row), stream) for (n, stream), row in pairs)

    def after(self, course: Course, weights: Weights) -> Course:
        """All runs one step later; ``weights`` are those of a cached step."""
        step, kept, anchors = course.step, dict(course.velocities), course.anchors
        length, shares = self._move(step)
        if step in self.schedule.full_steps:
            kept[step] = list(self.velocities(step, list(course.now)))
            anchors = [step, *anchors][: MOST_TERMS[GUIDED]]
            weights = (Term(step, (1.0,)),)
        made = [*course.made, weights]
        mixed = _mixed([(step, 1.0), *shares], made)
        now = []
        for p, state in enumerate(course.now):
            parts = ((kept[n][p][s : s + 1].float(), share) for (n, s), share in mixed.items())
            velocity = sum(_by_channel(share, part).float() * part for part, share in parts)
            now.append((state.float() + length * velocity).to(state.dtype))
        used = {term.step for terms in made[self.steps.oldest_from(step + 1) :] for term in terms}
        kept = {n: runs for n, runs in kept.items() if n in used.union(anchors)}
        return Course(step + 1, now, kept, made, anchors)

    def _known(self, course: Course) -> list[tuple[int, int]]:
        """Full step and stream of the velocities that can get a weight, in the order of terms."""
        anchors = course.anchors
        newest = anchors[: MOST_TERMS[SECOND]]
        have_second = all(len(run) > SECOND for n in newest for run in course.velocities[n])
        second = [(n, SECOND) for n in newest if have_second]
        return [*((n, GUIDED) for n in anchors), *second]

    def _move(self, step: int) -> tuple[float, list[tuple[int, float]]]:
        """Length of a step, and its shares that the velocities of earlier steps contribute."""
        (_, length), *past = self.steps.moves[step]
        return length, [(n, distance / length) for n, distance in past]


def _mixed(
    shares: Sequence[tuple[int, float]], made: Sequence[Weights]
) -> dict[tuple[int, int], Tensor]:
    """Share of each velocity of a full step in a weighted sum of the velocities of steps.

    For each channel, or one for all, by full step and stream.
    """
    total: dict[tuple[int, int], Tensor] = defaultdict(lambda: torch.zeros(1, dtype=torch.float64))
    for step, share in shares:
        for term in made[step]:
            weights = torch.tensor(term.weights, dtype=torch.float64)
            total[term.step, term.stream] = total[term.step, term.stream] + share * weights
    return total


def _by_channel(weights: Tensor, velocity: Tensor) -> Tensor:
    """Weights in a shape that multiplies a velocity ``[1, C, ...]``."""
    return weights.view(1, -1, *[1] * (velocity.ndim - 2))


def _products(velocities: Sequence[Tensor], target: Tensor) -> Products:
    """Products of velocities and what their weighted sum should be, ``[C, ...]`` each."""
    channels, count = len(target), len(velocities)
    a = torch.zeros(channels, count, count, dtype=torch.float64)
    b, error = torch.zeros(channels, count, dtype=torch.float64), 0.0
    columns = max(1, _COLUMNS // channels)
    rows = [velocity.reshape(channels, -1).split(columns, 1) for velocity in velocities]
    for *some, wanted in zip(*rows, target.reshape(channels, -1).split(columns, 1), strict=True):
        part = torch.stack(some, 1).double()
        a += (part @ part.mT).cpu()
        b += (part @ wanted[..., None])[..., 0].cpu()
        error += float((wanted - part[:, 0]).square().sum())
    return Products(a, b, error)
