"""Fits of weights to a few full runs, and what the weights are worth on runs that they do not know.

``closed_loop`` has the equations. With so few runs they are held at the weights of a run without a
path, as far as ``least_squares`` finds that the runs do not agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import Tensor

from ..fitting.closed_loop import ClosedLoop, Toward, fit
from ..fitting.crossed import crossed as crossing
from ..fitting.steps import Steps
from ..schedule import Schedule


class Runs(NamedTuple):
    """A few full runs, and how to go on from their states.

    Args:
        steps: N steps of the sampler.
        state: of a full run, ``[1, C, ...]``, by the number of the run and a step.
        velocities: velocities of the first runs at a step, from their states, as of
            ``closed_loop.fit``; evaluates the model.
        toward: weights that fits are pulled towards.
    """

    steps: Steps
    state: Callable[[int, int], Tensor]
    velocities: Callable[[int, Sequence[Tensor]], Sequence[Tensor]]
    toward: Toward


def pooled(schedule: Schedule, runs: Runs, count: int) -> ClosedLoop:
    """Go on with the first runs, under weights that are fitted to all of them."""
    return fit(schedule, runs.steps, _states(runs, count), runs.velocities, runs.toward)


def crossed(schedule: Schedule, runs: Runs, count: int) -> ClosedLoop:
    """Go on with the first runs, each under weights that are fitted to the others."""
    return crossing(schedule, runs.steps, _states(runs, count), runs.velocities, runs.toward)


def _states(runs: Runs, count: int) -> Callable[[int], Sequence[Tensor]]:
    return lambda step: [runs.state(run, step) for run in range(count)]
