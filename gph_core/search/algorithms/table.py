"""The search algorithms by name.

To add one, write a generator as in ``local`` and give it a row in ``ALGORITHMS``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...schedule import Schedule, ScheduleSpace
from ..proposals import Search
from .annealing import budcache_annealing, simulated_annealing
from .local import coordinate_ascent, hill_climbing, steepest_ascent
from .population import ant_colony, evolution
from .sampling import exhaustive, random_search
from .surrogate import additive_cost, bayesian_optimization, pairwise_cost


@dataclass(frozen=True, slots=True)
class Setup:
    """Parameters derived from a study's budget and probe.

    The defaults are those of the source's comparison of searches, for PSNR.
    """

    t_max: float = 0.5
    t_min: float = 1e-4
    num_proposals: int = 200  # of an annealing chain, and at most of a model's first batch


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A search as a study starts it.

    Args:
        start: takes the space, random numbers, warm starts and the setup.
        needs_probe: whether it uses the temperatures of the setup.
        needs_length: whether it uses the number of proposals.
    """

    start: Callable[[ScheduleSpace, random.Random, Sequence[Schedule], Setup], Search]
    needs_probe: bool = False
    needs_length: bool = False


DEFAULT, DEFAULT_FROM_STARTS = "annealing", "hill climbing"
SMALL_SPACE = 256  # schedules, which are all scored; all spaces of up to 10 steps are smaller

ALGORITHMS: dict[str, Algorithm] = {
    DEFAULT: Algorithm(
        lambda space, rng, seeds, setup: simulated_annealing(
            space, rng, seeds,
            t_max=setup.t_max, t_min=setup.t_min, num_proposals=setup.num_proposals,
        ),
        needs_probe=True,
        needs_length=True,
    ),
    "hill climbing": Algorithm(lambda space, rng, seeds, _: hill_climbing(space, rng, seeds)),
    "steepest ascent": Algorithm(lambda space, rng, seeds, _: steepest_ascent(space, rng, seeds)),
    "coordinate ascent": Algorithm(
        lambda space, rng, _seeds, _: coordinate_ascent(space, rng)
    ),
    "BudCache annealing": Algorithm(
        # Its own ratio of temperatures, on the scale of the objective at hand.
        lambda space, rng, seeds, setup: budcache_annealing(
            space, rng, seeds,
            t_max=setup.t_max, t_min=setup.t_max / 5000, num_proposals=setup.num_proposals,
        ),
        needs_probe=True,
        needs_length=True,
    ),
    "evolution": Algorithm(lambda space, rng, seeds, _: evolution(space, rng, seeds)),
    "ant colony": Algorithm(lambda space, rng, seeds, _: ant_colony(space, rng, seeds)),
    # The models begin with at most half of the budget.
    "additive cost": Algorithm(
        lambda space, rng, seeds, setup: additive_cost(
            space, rng, seeds, initial=min(100, setup.num_proposals)
        ),
        needs_length=True,
    ),
    "pairwise cost": Algorithm(
        lambda space, rng, seeds, setup: pairwise_cost(
            space, rng, seeds, initial=min(100, setup.num_proposals)
        ),
        needs_length=True,
    ),
    "Bayesian optimization": Algorithm(
        lambda space, rng, seeds, setup: bayesian_optimization(
            space, rng, seeds, initial=min(50, setup.num_proposals)
        ),
        needs_length=True,
    ),
    "random": Algorithm(
        lambda space, rng, _seeds, _: random_search(space, rng)
    ),
    "exhaustive": Algorithm(lambda space, rng, seeds, _: exhaustive(space, rng, seeds)),
}  # fmt: skip


def choose_default(space: ScheduleSpace, has_starts: bool = False) -> str:
    """The search to use unless the user wants another.

    Args:
        has_starts: whether it begins at good schedules, which annealing would leave first.
    """
    if space.size <= SMALL_SPACE:
        return "exhaustive"
    return DEFAULT_FROM_STARTS if has_starts else DEFAULT
