"""BudCache with its own space, temperatures and objective, which a study must not scale.

The row *BudCache annealing* of ``ALGORITHMS`` is the same search on the spaces and objectives of
*Schedule Search*, with temperatures from a probe.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from ...quality.objective import OBJECTIVES, Objective
from ...schedule import ScheduleSpace
from ..proposals import Search
from .annealing import budcache_annealing


class BudCache(NamedTuple):
    """Parts that a study needs to search as BudCache does; it ends by itself, after one chain."""

    space: ScheduleSpace
    search: Search
    objective: Objective = OBJECTIVES["latent MSE"]


def as_in_seed_paper(num_steps: int, num_full: int, rng: random.Random) -> BudCache:
    """The seed paper's reproduction: steps 0, 1, 2 and the last full, and no far or double moves.

    Source: seed paper, appendix *Calibration, schedule search, and evaluation separation*, and its
    program; two prompts, three for Qwen-Image.
    """
    space = ScheduleSpace(num_steps, num_steps - num_full, (0, 1, 2, num_steps - 1))
    return BudCache(space, budcache_annealing(space, rng, single_share=1, far_moves=0, restarts=1))
