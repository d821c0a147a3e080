"""Costs and regrets of courses: what a search has spent and how good its best schedule then is.

A course has the full steps so far and the best mean, after each improvement of one search. The
regret is how many dB a mean is below that of the best schedule.
"""

from __future__ import annotations

import numpy as np


def cost_of_regret(course: list[tuple[float, float]], best: float, regret: float) -> float:
    """Full steps until a course is that near to the best; infinite if never."""
    return next((cost for cost, mean in course if best - mean <= regret), np.inf)


def median_cost(courses: list, best: float, regret: float) -> float:
    """Full steps to a regret, of the median seed."""
    return float(np.median([cost_of_regret(course, best, regret) for course in courses]))


def worst_end(courses: list, best: float) -> float:
    """Regret in which the unluckiest seed ends."""
    return max(best - course[-1][1] for course in courses)


def median_regret(courses: list, best: float, cost: float) -> float:
    """Regret of the median seed at a cost; NaN until every seed has a score."""
    regrets = [
        min((best - mean for spent, mean in course if spent <= cost), default=np.nan)
        for course in courses
    ]
    return float(np.median(regrets))
