"""Searches with populations: a genetic algorithm and an ant colony.

Both start again, which ends a unit, when they find nothing better any more.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

from ...schedule import Schedule, ScheduleSpace
from ..proposals import END_OF_UNIT, Proposal, Score, Search
from .moves import State, best_of, local_swap, starts


def evolution(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = (), *,
    size: int = 10, mutation: float = 0.5, patience: int = 100,
) -> Search:  # fmt: skip
    """A steady-state genetic algorithm without duplicates.

    Two parents are the winners of tournaments of two. A child keeps the full steps that both have
    and draws the others from those that one has; then it may mutate. It replaces the worst of the
    population if it is better.

    Args:
        size: of the population, which begins with the warm starts.
        mutation: probability of a local swap.
        patience: children in a row that are not better than the worst before a restart.

    Source: GENITOR (Whitley 1989) for the replacement; random respectful recombination of sets of
    one size (Radcliffe 1991) for the children.
    """
    beginnings = starts(space, rng, seeds)
    while True:
        population: dict[Schedule, Score] = {}
        for schedule in itertools.islice(beginnings, size):
            population[schedule] = yield Proposal(schedule)
        barren = 0
        while barren < patience:
            child = recombined(_winner(population, rng), _winner(population, rng), rng)
            if rng.random() < mutation:
                child = local_swap(space, child, rng)
            worst = min(population, key=lambda s: population[s].mean)
            score = yield Proposal(child, rival=population[worst])
            if child not in population and score.mean > population[worst].mean:
                del population[worst]
                population[child] = score
                barren = 0
            else:
                barren += 1
        yield END_OF_UNIT


def _winner(population: dict[Schedule, Score], rng: random.Random) -> Schedule:
    members = list(population)
    return max(rng.choice(members), rng.choice(members), key=lambda s: population[s].mean)


def recombined(one: Schedule, other: Schedule, rng: random.Random) -> Schedule:
    """The full steps that two schedules share, and a random half of those that one of them has."""
    shared = set(one.full_steps) & set(other.full_steps)
    differing = sorted(set(one.full_steps) ^ set(other.full_steps))
    drawn = rng.sample(differing, len(differing) // 2)
    return Schedule((*shared, *drawn), one.num_steps)


def ant_colony(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = (), *,
    ants: int = 10, evaporation: float = 0.3, floor: float = 0.01, patience: int = 20,
) -> Search:  # fmt: skip
    """Schedules drawn step by step along pheromone, which the best ones lay.

    An ant draws full steps without replacement, in proportion to their pheromone. After each round
    of ants, pheromone moves towards 1 on the steps of the round's best schedule and of the best one
    of all, half of the way for each, and towards 0 elsewhere.

    Args:
        ants: of a round; the first ones take the warm starts.
        evaporation: how far pheromone moves in a round.
        floor: pheromone stays this far from 0 and 1, so that no step is ever settled.
        patience: rounds without a new best schedule before a restart.

    Source: Leguizamón and Michalewicz 1999 for pheromone on the elements of a subset; the
    hyper-cube framework (Blum and Dorigo 2004) for its update, which does not depend on the scale
    of the scores; MAX-MIN Ant System (Stützle and Hoos 2000) for its limits.
    """
    beginnings = starts(space, rng, seeds)
    while True:
        pheromone = dict.fromkeys(space.free_steps, 0.5)
        paths = beginnings  # while all steps are alike, ants draw uniformly
        elite: State | None = None
        waiting = 0
        while waiting < patience:
            first = next(paths)
            leader = first, (yield Proposal(first))
            leader = yield from best_of(itertools.islice(paths, ants - 1), leader)
            if elite is None or leader[1].mean > elite[1].mean:
                elite, waiting = leader, 0
            else:
                waiting += 1
            for step, level in pheromone.items():
                laid = sum(step in schedule.full_steps for schedule, _ in (leader, elite)) / 2
                level += evaporation * (laid - level)
                pheromone[step] = min(max(level, floor), 1 - floor)
            paths = paths_along(space, pheromone, rng)
        yield END_OF_UNIT


def paths_along(
    space: ScheduleSpace, pheromone: Mapping[int, float], rng: random.Random
) -> Iterator[Schedule]:
    """Schedules with full steps drawn without replacement, in proportion to pheromone."""
    count = len(space.free_steps) - space.num_cached
    while True:
        # Of independent exponential times, each is the first with a probability in proportion to
        # its rate, and so on among the rest.
        arrivals = {step: rng.expovariate(level) for step, level in pheromone.items()}
        chosen = heapq.nsmallest(count, arrivals, key=arrivals.__getitem__)
        yield Schedule((*space.required_full, *chosen), space.num_steps)
