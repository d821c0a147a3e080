"""Searches that only ever go up: hill climbing and coordinate ascent, each with restarts.

Source: GPH paper, appendix *Schedule Search*.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from ...schedule import Schedule, ScheduleSpace
from ..proposals import BEGIN_OF_UNIT, END_OF_UNIT, Proposal, Search
from .moves import Part, State, best_of, starts


def hill_climbing(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = ()
) -> Search:
    """Moves to the first better neighbor, in random order, until there is none."""
    return _climbing(space, rng, seeds, lambda state: _first_better(space, rng, state))


def steepest_ascent(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = ()
) -> Search:
    """Moves to the best of all neighbors while that is better."""
    return _climbing(space, rng, seeds, lambda state: best_of(space.neighbors(state[0]), state))


def _climbing(
    space: ScheduleSpace,
    rng: random.Random,
    seeds: Sequence[Schedule],
    improved: Callable[[State], Part],
) -> Search:
    """Climb from each start until nothing improves it."""
    for start in starts(space, rng, seeds):
        state = start, (yield Proposal(start))
        before = None
        while state != before:
            before = state
            state = yield from improved(state)
        yield END_OF_UNIT


def _first_better(space: ScheduleSpace, rng: random.Random, state: State) -> Part:
    neighbors = space.neighbors(state[0])
    rng.shuffle(neighbors)
    for neighbor in neighbors:
        score = yield Proposal(neighbor, rival=state[1])
        if score.mean > state[1].mean:
            return neighbor, score
    return state


def coordinate_ascent(space: ScheduleSpace, rng: random.Random) -> Search:
    """Moves one full step at a time to its best place, from the earliest to the latest.

    Sweeps over all of them, each a unit, until one changes nothing; then starts again. The start is
    scored before the first unit begins, as in the source's program.
    """
    while True:
        start = space.sample(rng)
        state = start, (yield Proposal(start))
        yield BEGIN_OF_UNIT
        before = None
        while state != before:
            before = state
            for slot in range(len(space.movable_steps(start))):
                # A step that has moved past another takes its slot, as in the source's program.
                step = space.movable_steps(state[0])[slot]
                places = [state[0].swap(step, place) for place in state[0].cached_steps]
                state = yield from best_of(places, state)
            yield END_OF_UNIT
