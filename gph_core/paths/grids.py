"""The part of a source that other noise levels cover, and what its schedule has to keep there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..noise import FLOW_MAX
from ..schedule import Schedule

# The paper's search keeps the first three of 50 steps and the last one full.
MIN_FULL = 4
FIRST_FULL, FIRST_OF = 3, 50

MAX_STEPS = 1000  # the search for the nearest schedule takes F N² operations


@dataclass(frozen=True, slots=True)
class Grids:
    """The covered part of a source, and the target."""

    source_full: tuple[int, ...]  # steps of the source inside its part; the part's first is one
    source_levels: np.ndarray  # [N₀ + 1], see ``noise_levels``
    target_levels: np.ndarray  # [N + 1]
    num_full: int  # F of the target
    first_full: int  # first steps of the target that have to be full
    last_full: bool  # whether its last step has to be
    longest: float  # noise-level distance that a cached run may bridge

    @property
    def num_steps(self) -> int:
        """N of the target."""
        return len(self.target_levels) - 1


def noise_levels(
    source_sigmas: Sequence[float], target_sigmas: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Noise levels of both grids on the scale from 0 to 1 of flow models.

    Sigmas of other models go to 14 or 80 and mean x₀ + σ ε. Divided by 1 + σ, that is a flow
    model's (1 - t) x₀ + t ε at t = σ / (1 + σ), so t is the level. In plain sigmas, the first of
    their steps would outweigh all others together.
    """
    source, target = _checked("source", source_sigmas), _checked("run's", target_sigmas)
    if source[0] <= FLOW_MAX < target[0]:
        raise ValueError(
            f"the noise levels go up to {target[0]:g}, those of the schedule to {source[0]:g}: "
            "it belongs to another kind of model"
        )
    if source[0] > FLOW_MAX:
        return source / (1 + source), target / (1 + target)
    return source, target


def _checked(name: str, sigmas: Sequence[float]) -> np.ndarray:
    array = np.array(sigmas, float)
    if not 2 <= len(array) <= MAX_STEPS + 1:
        raise ValueError(
            f"{len(array)} {name} noise levels; between 2 and {MAX_STEPS + 1} are needed"
        )
    if not np.all(np.isfinite(array)) or array[-1] < 0:
        raise ValueError(f"the {name} noise levels are not numbers from 0 up: {list(sigmas)}")
    rising = np.flatnonzero(np.diff(array) >= 0)
    if len(rising):
        step = int(rising[0])
        raise ValueError(
            f"the {name} noise levels do not fall at step {step} "
            f"({array[step]:g} to {array[step + 1]:g})"
        )
    return array


def grids_of(schedule: Schedule, source: np.ndarray, target: np.ndarray, min_anchors: int) -> Grids:
    """The grids of a schedule on other noise levels, both as of ``noise_levels``."""
    total, num_steps = schedule.num_steps, len(target) - 1
    begin, end = _covered(source, target)
    inside = [step for step in schedule.full_steps if begin <= step < end]
    # Where noise is left, another run continues: this one's last step is not the last.
    last_full = bool(target[-1] <= source[-1]) and total - 1 in inside
    pattern = tuple(sorted({begin, *inside}))  # a run begins without anchors

    def scaled(steps: float) -> int:
        return half_up(num_steps * steps / (end - begin))

    leading = next(n for n in itertools.count() if begin + n not in pattern)
    first = min(leading, FIRST_FULL * total / FIRST_OF)
    first_full = min(num_steps, max(1, min_anchors, scaled(first)))
    floor = min(len(pattern), half_up(MIN_FULL * (end - begin) / total))
    count = min(num_steps, max(scaled(len(pattern)), floor, first_full + last_full))
    longest = _longest_run(schedule, source, begin, end) * max(1, len(pattern) / count)
    return Grids(pattern, source, target, count, first_full, last_full, longest)


def _covered(source: np.ndarray, target: np.ndarray) -> tuple[int, int]:
    """The steps of the source whose middle lies in the target's range: first, and after the last.

    A run that begins less than one of its steps below the source covers its beginning: some
    schedulers leave pure noise out. At least the step in which the target begins is covered.
    """
    middles = (source[:-1] + source[1:]) / 2
    begins = source[0] - target[0] <= target[0] - target[1]
    begin = 0 if begins else int(np.sum(middles >= target[0]))
    begin = min(begin, len(middles) - 1)
    return begin, max(begin + 1, int(np.sum(middles > target[-1])))


def _longest_run(schedule: Schedule, source: np.ndarray, begin: int, end: int) -> float:
    """The longest cached run in a range of steps, in noise level from one full step to the next."""
    runs = itertools.pairwise((*schedule.full_steps, schedule.num_steps))
    touching = [(a, b) for a, b in runs if b - a > 1 and a < end and b > begin]
    return max((float(source[a] - source[b]) for a, b in touching), default=0.0)


def half_up(value: float) -> int:
    """The nearest whole number; halves are rounded up."""
    return math.floor(value + 0.5)
