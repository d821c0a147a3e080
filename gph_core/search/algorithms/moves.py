"""Starts and moves of searches. Every move is made of swaps, so schedules stay in their space."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable, Iterator, Sequence

from ...schedule import Schedule, ScheduleSpace
from ..proposals import Proposal, Score

REACH = 3  # steps; a swap within it is local
LOCAL_SHARE = 0.7  # of the proposals in annealing

# The current schedule of a search; and a part of a search, which returns where it ended.
State = tuple[Schedule, Score]
Part = Generator[Proposal, Score, State]


def starts(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule]
) -> Iterator[Schedule]:
    """The warm starts in random order, then uniform draws without end."""
    for seed in seeds:
        if seed not in space:
            raise ValueError(
                f"the warm start {seed} is not among the schedules to search: {space.num_steps} "
                f"steps, {space.num_cached} of them cached, steps "
                f"{', '.join(map(str, space.required_full))} full; leave it out"
            )
    yield from rng.sample(list(seeds), len(seeds))
    while True:
        yield space.sample(rng)


def local_swap(space: ScheduleSpace, schedule: Schedule, rng: random.Random) -> Schedule:
    """A random swap that prefers steps near each other; itself where no swap is possible.

    A uniform cached step becomes full. The full step that is cached instead is drawn within
    ``REACH`` of it in 70 % of the cases, if there is one, else from all that may move.

    Source: GPH paper, appendix *Schedule Search*, annealing proposal.
    """
    movable, cached = space.movable_steps(schedule), schedule.cached_steps
    if not movable or not cached:
        return schedule
    chosen = rng.choice(cached)
    near = [step for step in movable if abs(step - chosen) <= REACH]
    is_local = near and rng.random() < LOCAL_SHARE
    return schedule.swap(rng.choice(near if is_local else movable), chosen)


def local_neighbors(space: ScheduleSpace, schedule: Schedule) -> list[Schedule]:
    """All schedules one swap within ``REACH`` away, in a fixed order."""
    cached = schedule.cached_steps
    return [
        schedule.swap(full, step)
        for full in space.movable_steps(schedule)
        for step in cached
        if abs(full - step) <= REACH
    ]


def best_of(candidates: Iterable[Schedule], current: State) -> Part:
    """The best candidate if it is strictly better than the current schedule, else that."""
    for candidate in candidates:
        score = yield Proposal(candidate, rival=current[1])
        if score.mean > current[1].mean:
            current = candidate, score
    return current
