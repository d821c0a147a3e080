"""Searches that do not learn from scores, and the probe that sets annealing's temperatures."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...schedule import Schedule, ScheduleSpace
from ..proposals import Proposal, Score, Search
from .moves import local_swap, starts

MOST_SCHEDULES = 100_000  # of an exhaustive search: days, even of the smallest models

Pair = tuple[Schedule, Schedule]


def random_search(space: ScheduleSpace, rng: random.Random) -> Search:
    """Uniform draws without end."""
    return _propose(iter(lambda: space.sample(rng), None))


def exhaustive(space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = ()) -> Search:
    """Every schedule once: the warm starts, then the others in random order.

    So a search that is cut short has seen schedules of all kinds.
    """
    if space.size > MOST_SCHEDULES:
        raise ValueError(
            f"there are {space.size:,} schedules with {space.num_cached} of {space.num_steps} "
            f"steps cached, too many to try all (at most {MOST_SCHEDULES:,}); choose another "
            "algorithm"
        )
    return _propose(_shuffled(space, rng, seeds))


def _shuffled(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule]
) -> Iterator[Schedule]:
    warm = itertools.islice(starts(space, rng, seeds), len(seeds))
    yield from dict.fromkeys([*warm, *rng.sample(list(space), space.size)])


def _propose(schedules: Iterable[Schedule]) -> Search:
    # Only a new best counts, so all others may be dropped early.
    best: Score | None = None
    for schedule in schedules:
        score = yield Proposal(schedule, rival=best)
        if best is None or score.mean > best.mean:
            best = score


def probe_pairs(space: ScheduleSpace, rng: random.Random, count: int) -> list[Pair]:
    """Uniform schedules, each with one annealing proposal of it.

    Source: GPH paper, appendix *Schedule Search*: 25 pairs, scored before the search.
    """
    draws = (space.sample(rng) for _ in range(count))
    return [(schedule, local_swap(space, schedule, rng)) for schedule in draws]


def median_difference(pairs: Iterable[Pair], scores: Mapping[Schedule, Score]) -> float:
    """The median over pairs of the absolute difference of their mean scores; 0 without pairs."""
    return statistics.median([abs(scores[a].mean - scores[b].mean) for a, b in pairs] or [0.0])


def temperatures(median: float) -> tuple[float, float]:
    """The first and last temperature of annealing for a probe's median difference.

    Ten times the median, to two significant figures, and a thousandth of that. With a median of
    zero, nothing worse is accepted.

    Source: GPH paper, appendix *Schedule Search*.
    """
    t_max = float(f"{10 * median or 1e-9:.2g}")
    return t_max, float(f"{t_max / 1000:.2g}")
