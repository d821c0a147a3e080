"""Spacings: schedules by a rule, without any example.

Spacing by noise level is for runs without a path. A cached step reuses what the model computed at
a higher noise level; its error is what has changed since, times its own length. The output is
assumed to change fast where a run begins and where the picture is nearly done, and slowly between,
in every model. The schedule minimizes the sum of these errors.

The others, even spacings and ones that are denser at the start, are where searches begin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ..noise import without_shift
from ..schedule import Schedule, uniform
from .grids import FIRST_FULL, FIRST_OF

# How far from begin and end the change is fast, by whether the run is guided. Chosen on the demo
# model: docs/decisions/schedules_and_paths.md, "Spacing by noise level".
SOFTNESS = {True: (0.08, 0.08), False: (0.8, 0.3)}
# The same, at both ends, where damped velocity predicts cached steps: without guidance, and how
# fast it falls with guidance.
SOFTEST, SHARPENING = 0.8, 1.25
LAST = 2.0  # weight of the steps cached after the last full one: nothing corrects them


def noise_spacing(
    sigmas: Sequence[float], num_full: int, halfway: float, guided: bool, min_anchors: int = 1,
    sigma_max: float = 1.0,
) -> Schedule:  # fmt: skip
    """The schedule whose cached steps have the least cost in sum.

    A cached step n after the full step a costs ``(u[n] - u[n + 1]) (x[a] - x[n])`` with
    ``x = 1 / (u[0] - u + b) - 1 / (u + e)``: u is the noise level without the model's shift, b and
    e are the softness at begin and end.

    Args:
        sigmas: N + 1 falling noise levels, see ``without_shift``.
        halfway, sigma_max: the model's noise level in the middle of its own schedule, and the
            highest one.
        guided: whether CFG is above 1, or the model was trained to imitate that.
        min_anchors: first steps that have to be full.
    """
    levels = without_shift(sigmas, halfway, sigma_max)
    return _least(_costs(levels, *SOFTNESS[guided]), num_full, min_anchors)


def damped_spacing(
    sigmas: Sequence[float], num_full: int, halfway: float, guidance: float,
    sigma_max: float = 1.0,
) -> Schedule:  # fmt: skip
    """Noise spacing with ``b = e = SOFTEST / (1 + SHARPENING |g - 1|)``, for damped velocity.

    Args:
        guidance: g of the run.
    """
    softness = SOFTEST / (1 + SHARPENING * abs(guidance - 1))
    levels = without_shift(sigmas, halfway, sigma_max)
    return _least(_costs(levels, softness, softness), num_full)


def _least(costs: np.ndarray, num_full: int, min_anchors: int = 1) -> Schedule:
    """The schedule with the least sum of costs."""
    first_full = min(min_anchors, num_full)
    rest = [0.0] * (num_full - first_full)
    chosen = cheapest(first_full - 1, costs[:, :-1], rest, LAST * costs[:, -1])
    return Schedule((*range(first_full - 1), *chosen), len(costs))


def cheapest(first: int, jumps: np.ndarray, places: Iterable[Any], tail: np.ndarray) -> list[int]:
    """The full steps, from a given one on, with the least sum of costs.

    Args:
        jumps: ``[N, N]`` from each full step to the next one.
        places: for each further full step, the cost of its place, ``[N]`` or one for all.
        tail: ``[N]`` from the last full step to the end of the run.
    """
    best, before = np.where(np.arange(len(tail)) == first, 0.0, np.inf), []
    for cost in places:
        sums = best[:, None] + jumps
        before.append(sums.argmin(0))
        best = sums.min(0) + cost
    chosen = [int((best + tail).argmin())]
    for earlier in reversed(before):
        chosen.append(int(earlier[chosen[-1]]))
    return chosen[::-1]


def _costs(levels: np.ndarray, at_begin: float, at_end: float) -> np.ndarray:
    """Cost ``[N, N + 1]`` of the cached steps between two full ones; column N is the run's end."""
    begins, lengths = levels[:-1], levels[:-1] - levels[1:]
    place = 1 / (levels[0] - begins + at_begin) - 1 / (begins + at_end)
    # Sums over the steps before each one, so that a sum between two is a difference.
    length, moment = (np.insert(np.cumsum(part), 0, 0.0) for part in (lengths, lengths * place))
    costs = place[:, None] * (length - length[1:, None]) - (moment - moment[1:, None])
    steps = np.arange(len(levels))
    return np.where(steps > steps[:-1, None], costs, np.inf)


POWERS = (1.0, 1.15, 1.3, 1.5, 1.8)


def spacings(num_steps: int, num_full: int, required: Collection[int] = (0,)) -> list[Schedule]:
    """Full steps at ``round((N - 1) (i / (K - 1))^p)``, for p of ``POWERS``, and ``even``.

    The rule begins at the last of the first required steps. Spacings with fewer than K different
    steps, or without a required one, are left out.
    """
    first = next(step for step in range(num_steps) if step + 1 not in required)
    rest = num_full - first - 1
    families = [
        [*range(first), *(first + round((num_steps - 1 - first) * (i / rest) ** power)
                          for i in range(rest + 1))]
        for power in POWERS
        if rest > 0
    ]  # fmt: skip
    families.append(list(even(num_steps, num_full).full_steps))
    distinct = dict.fromkeys(tuple(dict.fromkeys(steps)) for steps in families)
    return [
        Schedule(steps, num_steps)
        for steps in distinct
        if len(steps) == num_full and set(required) <= set(steps)
    ]


def even(num_steps: int, num_full: int) -> Schedule:
    """Full steps at ``i N / K``, rounded down; the last steps are cached."""
    return Schedule(tuple(i * num_steps // num_full for i in range(num_full)), num_steps)


def spacing(num_steps: int, num_full: int, min_anchors: int = 1) -> Schedule:
    """Uniform spacing after full first steps, in the proportion of three of 50.

    The published rule has three at any N, which leaves long gaps in short runs
    (docs/decisions/schedules_and_paths.md has the measurement). One first step is full where more
    would leave none for the last step.
    """
    first_full = max(1, round(FIRST_FULL * num_steps / FIRST_OF))
    if num_full <= first_full:
        first_full = 1
    return uniform(num_steps, num_full, max(first_full, min_anchors))
