"""Searches that fit a model to the scores and propose what it ranks best, batch by batch.

The fit needs whole scores, so no proposal has a rival. These searches have no units.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ...schedule import Schedule, ScheduleSpace
from ..proposals import Proposal, Score, Search
from .moves import starts

Array = NDArray[np.float64]


def additive_cost(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = (), *,
    initial: int = 100, batch: int = 50, ridge: float = 1e-3,
) -> Search:  # fmt: skip
    """Learns one weight per full step and proposes the schedules with the highest sums.

    Args:
        initial: schedules to begin with, the warm starts among them.
        batch: proposals between two fits.
        ridge: penalty of the squared weights.

    Source: GPH paper, comparison of search procedures: learned additive cost.
    """
    terms = np.broadcast_to(np.arange(space.num_steps + 1), (space.num_steps, space.num_steps + 1))
    return _learn(space, rng, seeds, terms, initial, batch, ridge)


def pairwise_cost(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = (), *,
    initial: int = 100, batch: int = 50, ridge: float = 1e-3,
) -> Search:  # fmt: skip
    """Learns one weight per pair of consecutive full steps, the end being the last of them.

    For the arguments see ``additive_cost``.

    Source: GPH paper, comparison of search procedures: learned pairwise cost.
    """
    terms = np.arange(space.num_steps * (space.num_steps + 1)).reshape(space.num_steps, -1)
    return _learn(space, rng, seeds, terms, initial, batch, ridge)


def _learn(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule], terms: NDArray[Any],
    initial: int, batch: int, ridge: float,
) -> Search:  # fmt: skip
    """The search with a linear cost.

    Args:
        terms: ``[N, N + 1]`` number of the weight for full step a followed by full step b, or by
            the end, N.
    """
    scores: dict[Schedule, Score] = {}
    yield from _score(itertools.islice(starts(space, rng, seeds), initial), scores)
    while True:
        means = _usable(scores)
        weights = _fit(list(means), list(means.values()), terms, ridge)
        new = (s for s in ranked(space, weights[terms]) if s not in scores)
        chosen = list(itertools.islice(new, batch))
        if not chosen:
            return
        yield from _score(chosen, scores)


def _score(schedules: Iterable[Schedule], scores: dict[Schedule, Score]) -> Search:
    for schedule in schedules:
        scores[schedule] = yield Proposal(schedule)


def _usable(scores: Mapping[Schedule, Score]) -> dict[Schedule, float]:
    """The finite means, which a model can be fitted to."""
    return {s: score.mean for s, score in scores.items() if math.isfinite(score.mean)}


def _fit(
    schedules: Sequence[Schedule], values: Sequence[float], terms: NDArray[Any], ridge: float
) -> Array:
    """Weights of the ridge regression of the values on how often each term counts.

    Terms and values are centered, so the intercept has no penalty. All are 0 without values.
    """
    if not schedules:
        return np.zeros(int(terms.max()) + 1)
    counts = np.zeros((len(schedules), int(terms.max()) + 1))
    for row, schedule in enumerate(schedules):
        for a, b in itertools.pairwise((*schedule.full_steps, schedule.num_steps)):
            counts[row, terms[a, b]] += 1
    seen = counts.any(axis=0)  # the weight of a term that never counts is 0
    used = counts[:, seen] - counts[:, seen].mean(axis=0)
    centered = np.array(values) - np.mean(values)
    weights = np.zeros(counts.shape[1])
    gram = used.T @ used + ridge * np.eye(used.shape[1])
    weights[seen] = np.linalg.solve(gram, used.T @ centered)
    return weights


def ranked(space: ScheduleSpace, weights: Array) -> Iterator[Schedule]:
    """Every schedule of a space, by falling sum of the weights of its consecutive full steps.

    A dynamic program finds the best continuation from each full step with each number of them left.
    So the loss of every other choice is exact, and following the smallest total loss first yields
    the schedules in order, without listing the space.

    Args:
        weights: ``[N, N + 1]``, of full step a followed by full step b, or by the end, N.
    """
    num_full = space.num_steps - space.num_cached
    choices = _choices(space, weights)
    # Of equal losses the latest entry goes first, so a path is followed to its end.
    age = itertools.count(0, -1)
    heap: list[tuple[float, int, float, tuple[int, ...], int]] = [(0.0, next(age), 0.0, (0,), 0)]
    while heap:
        _, _, lost_before, path, rank = heapq.heappop(heap)
        while len(path) < num_full:
            options = choices[num_full - len(path)][path[-1]]
            if rank + 1 < len(options):
                other = lost_before + options[rank + 1][0]
                heapq.heappush(heap, (other, next(age), lost_before, path, rank + 1))
            lost_before += options[rank][0]
            path, rank = (*path, options[rank][1]), 0
        yield Schedule(path, space.num_steps)


def _choices(space: ScheduleSpace, weights: Array) -> list[list[list[tuple[float, int]]]]:
    """Next steps by number of full steps left and full step, and what they lose, best first."""
    steps = np.arange(space.num_steps)
    required = np.array([*space.required_full, space.num_steps])
    # No jump, not even to the end, passes a required step.
    horizon = required[np.searchsorted(required, steps, side="right")]
    possible = (steps[:, None] < steps) & (steps <= horizon[:, None])
    best = np.where(horizon == space.num_steps, weights[:, -1], -np.inf)
    choices: list[list[list[tuple[float, int]]]] = [[]]
    for _ in range(space.num_steps - space.num_cached - 1):
        sums = np.where(possible, weights[:, :-1], -np.inf) + best
        best = sums.max(axis=1)
        order = np.argsort(-sums, axis=1, kind="stable")
        choices.append(
            [
                [(float(best[a] - sums[a, b]), int(b)) for b in order[a] if sums[a, b] > -np.inf]
                for a in steps
            ]
        )
    return choices


def bayesian_optimization(
    space: ScheduleSpace, rng: random.Random, seeds: Sequence[Schedule] = (), *,
    initial: int = 50, pool: int = 5000, trees: int = 50,
) -> Search:  # fmt: skip
    """Fits a random forest and proposes schedules by expected improvement on the best score.

    A batch is the best 25 of a pool, 200 once 1000 schedules are scored.

    Args:
        initial: schedules to begin with, the warm starts among them.
        pool: uniform draws, to which the neighbors of the best schedule are added. A space that is
            not larger is its own pool.
        trees: of the forest; mean and deviation of their predictions are the posterior.

    Source: GPH paper, comparison of search procedures: Bayesian optimization.
    """
    forest = _forest()
    scores: dict[Schedule, Score] = {}
    yield from _score(itertools.islice(starts(space, rng, seeds), initial), scores)
    while True:
        if space.size <= pool:
            candidates = list(space)
        else:
            best = max(scores, key=lambda s: scores[s].mean)
            candidates = [space.sample(rng) for _ in range(pool)] + space.neighbors(best)
        new = [s for s in dict.fromkeys(candidates) if s not in scores]
        if not new:
            if len(scores) == space.size:
                return
            continue
        gains = np.zeros(len(new))
        if means := _usable(scores):
            fitted = forest(n_estimators=trees, random_state=rng.getrandbits(32))
            fitted.fit(_flags(means, space.num_steps), np.array(list(means.values())))
            flags = _flags(new, space.num_steps)
            guesses = np.stack([tree.predict(flags) for tree in fitted.estimators_])
            best_mean = max(means.values())
            gains = expected_improvement(guesses.mean(axis=0), guesses.std(axis=0), best_mean)
        count = 25 if len(scores) < 1000 else 200
        yield from _score([new[i] for i in np.argsort(-gains, kind="stable")[:count]], scores)


def _forest() -> Any:
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError as error:
        raise ImportError(
            "Bayesian optimization needs the package scikit-learn; install it with: "
            "pip install scikit-learn, or choose another search"
        ) from error
    return RandomForestRegressor


def _flags(schedules: Collection[Schedule], num_steps: int) -> NDArray[np.float32]:
    """``[schedules, N]``: 1 where a step is full."""
    steps = np.array([schedule.full_steps for schedule in schedules])
    flags = np.zeros((len(schedules), num_steps), np.float32)
    np.put_along_axis(flags, steps, 1, axis=1)
    return flags


def expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """Expected improvement of normal variables over the best value so far."""
    deviation = deviation + 1e-9  # where all trees agree
    z = (mean - best) / deviation
    return (mean - best) * norm.cdf(z) + deviation * norm.pdf(z)
