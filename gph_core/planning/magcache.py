"""MagCache: a schedule from the sizes of the residuals, measured once for each model."""

from __future__ import annotations

import math

from ..gates.base import check_threshold
from ..gates.coefficients import Magnitudes
from ..schedule import Schedule


def magnitude_schedule(table: Magnitudes, num_steps: int, threshold: float) -> Schedule:
    """The schedule of a run, which depends on the number of steps alone.

    After each full step the ratios are multiplied; a step is cached while the distances of these
    products from 1 add up to less than the threshold.

    Args:
        table: that of the model, with the limits of its runs.
        num_steps: N; if the table has another one, each step takes its nearest ratio.
        threshold: 0 caches nothing, inf all that may be cached.

    Source: MagCache of Zehong-Ma; there is no forced last step.
    """
    check_threshold(threshold)
    rounding = 0.5 if table.rounds_retention else 0
    full_calls = int(table.retention * num_steps * table.calls + rounding)
    first_cached = max(1, math.ceil(full_calls / table.calls))
    full, product, error, since = [], 1.0, 0.0, 0
    for step in range(num_steps):
        # The quotient first, as in the source, whose rounding decides at exact halves.
        entry = round(step * ((len(table.ratios) - 1) / max(num_steps - 1, 1)))
        if step >= first_cached:
            product *= table.ratios[entry]
            error += abs(1 - product)
            since += 1
            is_small = error < threshold or (table.inclusive and error == threshold > 0)
            is_short = table.max_cached is None or since <= table.max_cached
            if is_small and is_short and entry not in table.always_full:
                continue
        full.append(step)
        product, error, since = 1.0, 0.0, 0
    return Schedule(tuple(full), num_steps)
