"""The probe of a study: what scales temperatures, and objectives to each other."""

from __future__ import annotations

import math
import random

from ..schedule import Schedule, ScheduleSpace
from .algorithms.sampling import Pair, probe_pairs
from .proposals import Proposal
from .study import Study

PROBE_PAIRS = 25
FEWEST_PAIRS = 3
PROBE_SHARE = 8  # a probe takes about the eighth part of the budget at most


def probed(study: Study, space: ScheduleSpace, seed: int) -> list[Pair]:
    """Pairs of schedules, scored; fewer than ``PROBE_PAIRS`` if the budget is small.

    Those without values are left out.
    """
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
    """Whether the probe ends with so many pairs; another study of the search may have paid."""
    if all(study.knows(schedule) for schedule in pair):
        return False
    if count < FEWEST_PAIRS:
        return study.asked >= 1
    is_refused = any(study.refuses(Proposal(schedule)) for schedule in pair)
    return is_refused or study.asked > 1 / PROBE_SHARE


def _has_values(study: Study, schedule: Schedule) -> bool:
    """Whether a schedule can stand in a probe, whatever the objective."""
    values = (value for metrics in study.metrics(schedule) for value in metrics.values())
    return math.isfinite(study.scores[schedule].mean) and not any(map(math.isnan, values))
