"""Setup of a search: its space, and the parameters of its algorithm, measured by a probe."""

from __future__ import annotations

import math
import random

from ..paths.grids import FIRST_FULL, FIRST_OF
from ..policies.base import Policy
from ..quality.objective import CAPPED, HARDLY, PSNR
from ..schedule import Schedule, ScheduleSpace
from .algorithms.sampling import Pair, median_difference, probe_pairs, temperatures
from .algorithms.table import Setup
from .proposals import Proposal
from .study import Study

SHORTEST_CHAIN = 100


def search_space(
    num_steps: int, num_full: int, policy: Policy, fixed_ends: bool | None = None
) -> ScheduleSpace:
    """The schedules that are searched: the first steps and the last one are full.

    The first ones in the proportion of three of 50, at least those that the policy needs, at most
    as many as leave two free full steps.

    Args:
        fixed_ends: False: only the first steps that the policy needs are full; None: False where
            weights are fitted to each schedule.
    """
    if not (policy.has_fixed_ends if fixed_ends is None else fixed_ends):
        return ScheduleSpace(num_steps, num_steps - num_full, tuple(range(policy.min_anchors)))
    first = max(1, round(FIRST_FULL * num_steps / FIRST_OF))
    first = max(policy.min_anchors, min(first, num_full - 3))
    last = {num_steps - 1} if num_full - first >= 2 else set()
    required = {*range(min(first, num_full)), *last}
    return ScheduleSpace(num_steps, num_steps - num_full, tuple(required))


def prepared(study: Study, space: ScheduleSpace, start: Schedule, seed: int | None) -> Setup:
    """Annealing's temperatures, and the length of its chains or of a model's first batch.

    The temperatures for PSNR, capped or not, are those of the source's comparison of searches; for
    other units, a probe of 25 pairs measures them, as in the source's own searches. A chain is as
    long as there are neighbors, as in the source (200, 360 and 680 for 205, 333 and 493), but at
    least 100, and at most half of what the budget allows.

    Args:
        start: is scored; its cost counts as typical.
        seed: of the probe; None if the algorithm needs none.
    """
    study.score(Proposal(start))
    affordable = study.affordable([start])
    length = max(SHORTEST_CHAIN, len(space.neighbors(start)))
    length = max(1, round(min(length, affordable / 2)))
    if study.objective.name in (PSNR.name, CAPPED) or seed is None:
        return Setup(num_proposals=length)
    median = median_difference(probed(study, space, seed), study.scores)
    if study.objective.name == HARDLY:  # most pairs tie; the least that counts is one example
        median = max(median, 100 / study.num_examples)
    return Setup(*temperatures(median), length)


PROBE_PAIRS = 25
FEWEST_PAIRS = 3
PROBE_SHARE = 8  # a probe takes about an eighth of the budget at most


def probed(study: Study, space: ScheduleSpace, seed: int) -> list[Pair]:
    """Scored pairs of schedules, without those that have no values; fewer for small budgets."""
    pairs: list[Pair] = []
    for pair in probe_pairs(space, random.Random(seed), PROBE_PAIRS):
        if _is_too_much(study, pair, len(pairs)):
            break
        for schedule in pair:
            study.score(Proposal(schedule))
        if all(_has_values(study, schedule) for schedule in pair):
            pairs.append(pair)
    return pairs


def _is_too_much(study: Study, pair: Pair, count: int) -> bool:
    """Whether the probe ends after so many pairs; known pairs cost nothing."""
    if all(study.knows(schedule) for schedule in pair):
        return False
    if count < FEWEST_PAIRS:
        return study.asked >= 1
    is_refused = any(study.refuses(Proposal(schedule)) for schedule in pair)
    return is_refused or study.asked > 1 / PROBE_SHARE


def _has_values(study: Study, schedule: Schedule) -> bool:
    """Whether a schedule has values for every objective."""
    values = (value for metrics in study.metrics(schedule) for value in metrics.values())
    return math.isfinite(study.scores[schedule].mean) and not any(map(math.isnan, values))
