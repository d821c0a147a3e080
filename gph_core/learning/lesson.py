"""Choice of a spacing and its weights, on a few runs and within a budget of evaluations."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from torch import Tensor

from ..policies.fitted import Fitted
from ..quality.verdict import capped
from ..schedule import Schedule
from .few_runs import Runs, crossed, pooled

MOST_RUNS = 4  # full runs whose evaluations learning may take at most
MOST_TRIALS = 4  # spacings
# dB by which a spacing has to be better than the preferred one, and the default than the weights,
# as few images say little.
MARGIN = 3.0
FEWEST = 2  # examples that spacings are compared on, if there are as many


class Budget(NamedTuple):
    """What learning evaluates.

    Args:
        fitted: examples that the weights are fitted to.
        compared: examples, the first of them, that spacings and the default are compared on.
        trials: number of spacings.
        evaluations: of the model in all.
    """

    fitted: int
    compared: int
    trials: int
    evaluations: int

    @property
    def fits_at_once(self) -> bool:
        """Whether one trial, on all examples, also gives the weights."""
        return self.trials == 0


def budget_of(num_steps: int, num_full: int, examples: int) -> Budget:
    """The budget of learning K of N full steps: no more than ``MOST_RUNS`` N evaluations.

    Each trial, the default and the fit cost K evaluations for each of their examples.
    """
    runs = MOST_RUNS * num_steps // num_full  # of one example
    fitted = min(examples, runs - 1)
    for compared in (fitted, min(fitted, FEWEST)):
        trials = min(MOST_TRIALS, (runs - fitted) // compared - 1)
        if trials > 1:
            return Budget(
                fitted, compared, trials, ((trials + 1) * compared + fitted) * num_full
            )  # fmt: skip
    compared = min(fitted, runs - fitted)
    return Budget(fitted, compared, 0, (fitted + compared) * num_full)


class Learned(NamedTuple):
    """What was learned.

    Args:
        policy: the weights, of the schedule that it names.
        scores: of each compared example under weights of the others, in dB.
        default: of the same examples in the way that a run has without a path.
    """

    schedule: Schedule
    policy: Fitted
    scores: list[float]
    default: list[float]

    @property
    def is_better(self) -> bool:
        """Whether the default is not ahead of the weights by ``MARGIN``, as far as one sees it."""
        return _mean(self.scores) > _mean(self.default) - MARGIN


def learn(
    spacings: Sequence[Schedule],
    budget: Budget,
    runs: Runs,
    score: Callable[[int, Tensor], float],
    default: Callable[[int], Sequence[Tensor]],
) -> Learned:
    """Try spacings and the default on a few runs, and fit the weights of the best spacing.

    Args:
        spacings: the preferred one first; at least one.
        score: of a run in dB, from its number and the state in which it ends.
        default: ends of the first runs, as many as asked for, without a path.
    """

    def scores(ends: Sequence[Tensor]) -> list[float]:
        return list(map(score, range(budget.compared), ends))

    def tried(schedule: Schedule) -> tuple[list[float], Schedule]:
        return scores(crossed(schedule, runs, budget.compared).ends), schedule

    if budget.fits_at_once:
        schedule = spacings[0]
        trial = crossed(schedule, runs, budget.fitted)
        found, policy = scores(trial.ends), trial.policy
    else:
        found, schedule = best(map(tried, spacings[: budget.trials]))
        policy = pooled(schedule, runs, budget.fitted).policy
    return Learned(schedule, policy, found, scores(default(budget.compared)))


def best(trials: Iterable[tuple[list[float], Schedule]]) -> tuple[list[float], Schedule]:
    """The first trial, unless another's mean score is better by ``MARGIN``; then the best one."""
    first, *others = trials
    leader = max(others, key=lambda trial: _mean(trial[0]), default=first)
    return leader if _mean(leader[0]) > _mean(first[0]) + MARGIN else first


def _mean(scores: Sequence[float]) -> float:
    """Mean in dB of what can be seen: an image at 60 dB does not make up for one at 20."""
    return statistics.fmean(map(capped, scores))
