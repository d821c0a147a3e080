"""Simulated annealing, as in the GPH paper and as in BudCache.

A chain accepts a worse schedule with a probability that falls with the loss and, over the chain,
with the temperature, which has the units of the objective (dB for PSNR).
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...quality.objective import OBJECTIVES, Objective
from ...schedule import Schedule, ScheduleSpace
from ..proposals import END_OF_UNIT, Proposal, Search
from .moves import LOCAL_SHARE, REACH, Part, State, best_of, local_neighbors, local_swap, starts

Move = Callable[[ScheduleSpace, Schedule, random.Random], Schedule]
SINGLE_SHARE = 0.9  # of BudCache's proposals; the others swap two steps at once
FAR_MOVES = 2  # of each full step in BudCache's descent


def simulated_annealing(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = (), *,
    t_max: float, t_min: float, num_proposals: int, rounds: int = 20,
) -> Search:  # fmt: skip
    """Chains of local swaps, each followed by steepest ascent over swaps within reach.

    Args:
        t_max, t_min: temperatures at both ends of a chain; see ``sampling.temperatures``.
        num_proposals: of a chain.
        rounds: of steepest ascent, at most.

    Source: GPH paper, appendix *Schedule Search*.
    """
    for start in starts(space, rng, seeds):
        state = start, (yield Proposal(start))
        for temperature in cooling(t_max, t_min, num_proposals):
            state = yield from _attempt(space, rng, state, local_swap, temperature)
        for _ in range(rounds):
            before = state
            state = yield from best_of(local_neighbors(space, state[0]), state)
            if state == before:
                break
        yield END_OF_UNIT


def budcache_annealing(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = (), *,
    t_max: float = 0.05, t_min: float = 1e-5, num_proposals: int = 200, rounds: int = 20,
    single_share: float = SINGLE_SHARE, far_moves: int = FAR_MOVES, restarts: int | None = None,
) -> Search:  # fmt: skip
    """BudCache's chains, which sometimes swap two steps at once, then ascent that also moves far.

    The temperatures are BudCache's, for the MSE of final latents. Unlike in its code, the start
    counts as visited, and the ascent begins at the best schedule of the chain, not the last.

    Args:
        single_share: of the proposals that swap one step; the others swap two.
        far_moves: of each full step in a round of the ascent, beside those within reach.
        restarts: number of chains, with their ascents; None: without end.

    Source: BudCache (arXiv 2606.13496), its FLUX search.
    """
    move = functools.partial(budcache_swap, single_share=single_share)
    for start in itertools.islice(starts(space, rng, seeds), restarts):
        state = best = start, (yield Proposal(start))
        for temperature in cooling(t_max, t_min, num_proposals):
            state = yield from _attempt(space, rng, state, move, temperature)
            if state[1].mean > best[1].mean:
                best = state
        for _ in range(rounds):
            before = best
            best = yield from best_of(_near_and_far(space, best[0], rng, far_moves), best)
            if best == before:
                break
        yield END_OF_UNIT


def cooling(t_max: float, t_min: float, count: int) -> Iterator[float]:
    """Temperatures from ``t_max`` that fall by one factor, to the last before ``t_min``."""
    return (t_max * (t_min / t_max) ** (i / count) for i in range(count))


def _attempt(
    space: ScheduleSpace, rng: random.Random, state: State, move: Move, temperature: float
) -> Part:
    """Propose a move and accept it if it is better, or chance allows the loss."""
    candidate = move(space, state[0], rng)
    # Drawing the chance first turns the test u < exp(gain / T) into a limit of the score, which the
    # study can know. It is never above 0, so all that is better passes.
    lead = temperature * math.log(1 - rng.random())
    score = yield Proposal(candidate, rival=state[1], lead=lead)
    return (candidate, score) if score.mean > state[1].mean + lead else state


def budcache_swap(
    space: ScheduleSpace, schedule: Schedule, rng: random.Random, single_share: float = SINGLE_SHARE
) -> Schedule:
    """A random swap of one step, or of two at once; itself where no swap is possible.

    The full step is drawn first, then its new place, unlike in ``local_swap``. Two steps move
    regardless of distance.
    """
    movable, cached = space.movable_steps(schedule), schedule.cached_steps
    if not movable or not cached:
        return schedule
    if rng.random() >= single_share and min(len(movable), len(cached)) >= 2:
        for full, place in zip(rng.sample(movable, 2), rng.sample(cached, 2), strict=True):
            schedule = schedule.swap(full, place)
        return schedule
    full = rng.choice(movable)
    near = [step for step in cached if abs(step - full) <= REACH]
    is_local = near and rng.random() < LOCAL_SHARE
    return schedule.swap(full, rng.choice(near if is_local else cached))


def _near_and_far(
    space: ScheduleSpace, schedule: Schedule, rng: random.Random, far_moves: int
) -> Iterator[Schedule]:
    yield from local_neighbors(space, schedule)
    for full in space.movable_steps(schedule):
        far = [step for step in schedule.cached_steps if abs(step - full) > REACH]
        for place in rng.sample(far, min(far_moves, len(far))):
            yield schedule.swap(full, place)


class BudCache(NamedTuple):
    """BudCache with its own space, temperatures and objective, unlike that of ``ALGORITHMS``.

    It ends by itself, after one chain.
    """

    space: ScheduleSpace
    search: Search
    objective: Objective = OBJECTIVES["latent MSE"]


def as_in_seed_paper(num_steps: int, num_full: int, rng: random.Random) -> BudCache:
    """The GPH paper's reproduction: steps 0, 1, 2 and the last full, and no far or double moves.

    Source: GPH paper, appendix *Calibration, schedule search, and evaluation separation*, and its
    program; two prompts, three for Qwen-Image.
    """
    space = ScheduleSpace(num_steps, num_steps - num_full, (0, 1, 2, num_steps - 1))
    return BudCache(space, budcache_annealing(space, rng, single_share=1, far_moves=0, restarts=1))
