"""Full runs of a made-up model under Euler's method, and how to go on from their states."""

import itertools

import torch

from gph_core.fitting.steps import euler
from gph_core.learning.few_runs import Runs
from gph_core.schedule import Schedule

SIGMAS = [1.0, 0.8, 0.65, 0.4, 0.3, 0.1, 0.0]
SCHEDULE = Schedule.parse("0,1,3/6")
REPEAT = lambda step, anchors: [1.0]  # noqa: E731 - the newest velocity alone


def velocity(state, sigma):
    return torch.sin(3 * state) * sigma + state


def second(state, sigma):
    """That of another prompt."""
    return torch.cos(2 * state) - sigma


def full_run(start, velocity=velocity):
    states = [start]
    for now, following in itertools.pairwise(SIGMAS):
        states.append(states[-1] + (following - now) * velocity(states[-1], now))
    return states


def runs_of(count, velocity=velocity, toward=REPEAT, size=20, second=None):
    """Runs of two channels from random starts, and how often the model was asked.

    Args:
        second: velocity of a second prompt, by state and noise level; none: there is one prompt.
    """
    random = torch.Generator().manual_seed(0)
    starts = [torch.randn(1, 2, size, generator=random) for _ in range(count)]
    full, asked = [full_run(start, velocity) for start in starts], []
    prompts = [velocity] if second is None else [velocity, second]

    def velocities(step, now):
        asked.append((step, len(now)))
        return [torch.cat([of(state, SIGMAS[step]) for of in prompts]) for state in now]

    return Runs(euler(SIGMAS), lambda run, n: full[run][n], velocities, toward), full, asked
