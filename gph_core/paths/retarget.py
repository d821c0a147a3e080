"""Carry a schedule over to another number of steps or other noise levels.

A golden path belongs to the grid it was searched on. ``retarget`` proposes where its full steps lie
on another one; nothing of that is measured for the user's model, and nobody may call it so.

Rounded to steps, proposals can collide or leave a long run of cached steps. So the answer is the
schedule nearest to the proposal, in squared distance, among those with the right number of full
steps, the forced ones, and no cached run longer than the source's in noise level (longer by F₀/F
where the run has fewer full steps; the shortest possible where that cannot be).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..schedule import Schedule, uniform

# The paper's search always keeps the first three of 50 steps and the last one full.
MIN_FULL = 4
FIRST_FULL, FIRST_OF = 3, 50

FLOW_MAX = 1.01  # flow models begin at 1, in float32; the lowest begin of others is 14
MAX_STEPS = 1000  # the search for the nearest schedule takes F N² operations


def num_full(num_steps: int, source_full: int, source_steps: int) -> int:
    """Full steps of a whole run at the cache ratio of a source: ``round(N F₀ / N₀)``.

    Halves are rounded up. At least ``MIN_FULL`` (or as many as the source has): with fewer there is
    no picture. Never more than there are steps.
    """
    floor = min(MIN_FULL, source_full)
    return min(num_steps, max(floor, _half_up(num_steps * source_full / source_steps)))


@dataclass(frozen=True, slots=True)
class Grids:
    """What a proposal is made from: the covered part of the source, and the target."""

    source_full: tuple[int, ...]  # steps of the source inside its part; the part's first is one
    source_first: int  # how many of these stand for the forced first steps of a run
    source_range: tuple[int, int]  # first step of the part, and the one after its last
    source_levels: np.ndarray  # [N₀ + 1], see ``noise_levels``
    target_levels: np.ndarray  # [N + 1]
    num_full: int  # F of the target
    first_full: int  # first steps of the target that have to be full
    last_full: bool  # whether its last step has to be
    min_anchors: int  # of which the policy needs these
    longest: float  # noise-level distance that a cached run may bridge

    @property
    def num_steps(self) -> int:
        """N of the target."""
        return len(self.target_levels) - 1


def step_fraction(grids: Grids) -> Schedule:
    """The source's full steps at the same fraction n / (N - 1) of the run."""
    begin, end = grids.source_range
    stretch = (grids.num_steps - 1) / max(1, end - begin - 1)
    steps = _at_ranks(np.array(grids.source_full, float), grids)
    return _nearest((steps - begin) * stretch, grids)


def noise_level(grids: Grids) -> Schedule:
    """The source's full steps at the same noise level."""
    levels = _at_ranks(grids.source_levels[list(grids.source_full)], grids)
    return _nearest(_positions(levels, grids.target_levels), grids)


def density(grids: Grids) -> Schedule:
    """As much computation as in the source above every noise level.

    Each full step of the source spreads 1 over its noise interval, a cached one 0. Full are the
    steps in which that, accumulated and scaled to F, crosses k + 1/2.
    """
    full = np.array(grids.source_full)
    sums = (np.arange(grids.num_full) + 0.5) * len(full) / grids.num_full
    steps = full[sums.astype(int)]
    begin, end = grids.source_levels[steps], grids.source_levels[steps + 1]
    levels = begin + (sums % 1) * (end - begin)
    # Half a step earlier: what lies in the middle of a step is that step.
    return _nearest(_positions(levels, grids.target_levels) - 0.5, grids)


def published_uniform(grids: Grids) -> Schedule:
    """The published uniform rule, three first steps full: of the source, only the count."""
    return _uniform(grids, FIRST_FULL)


def even(grids: Grids) -> Schedule:
    """Uniform spacing from step 0 to the last: of the source, only the count."""
    return _uniform(grids, 1)


PROPOSALS: dict[str, Callable[[Grids], Schedule]] = {
    "step fraction": step_fraction,
    "noise level": noise_level,
    "density": density,
    "uniform": published_uniform,
    "even": even,
}
DEFAULT_RULE = "density"


def retarget(
    schedule: Schedule,
    source_sigmas: Sequence[float],
    target_sigmas: Sequence[float],
    rule: str = DEFAULT_RULE,
    min_anchors: int = 1,
) -> Schedule:
    """A schedule for the steps between ``target_sigmas``, made from one of another grid.

    A run that covers a part of the source's noise range (image to image, one of two experts) gets
    that part, at the part's own ratio of full steps.

    Args:
        schedule: the source, of N₀ steps.
        source_sigmas: N₀ + 1 falling noise levels.
        target_sigmas: N + 1 falling noise levels; the last may be 0.
        rule: a name in ``PROPOSALS``.
        min_anchors: full steps that the policy needs before the first cached one.

    Raises:
        ValueError: sigmas that are no falling noise levels of such a schedule, or of two kinds of
            model; an unknown rule.
    """
    if rule not in PROPOSALS:
        raise ValueError(f"{rule!r} is not a rule; choose one of {', '.join(PROPOSALS)}")
    if len(source_sigmas) != schedule.num_steps + 1:
        raise ValueError(
            f"a schedule of {schedule.num_steps} steps has {schedule.num_steps + 1} noise levels, "
            f"got {len(source_sigmas)}"
        )
    source, target = noise_levels(source_sigmas, target_sigmas)
    return PROPOSALS[rule](_grids(schedule, source, target, min_anchors))


def noise_levels(
    source_sigmas: Sequence[float], target_sigmas: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Noise levels of both grids on the scale from 0 to 1 of flow models.

    Sigmas of other models go to 14 or 80 and mean x₀ + σ ε. Divided by 1 + σ that is a flow
    model's (1 - t) x₀ + t ε at t = σ / (1 + σ), so that t is the level; as a plain difference of
    sigmas the first of their steps would outweigh all others together.
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


def _grids(schedule: Schedule, source: np.ndarray, target: np.ndarray, min_anchors: int) -> Grids:
    total, num_steps = schedule.num_steps, len(target) - 1
    begin, end = _covered(source, target)
    inside = [step for step in schedule.full_steps if begin <= step < end]
    # Where noise is left, another run goes on: this one's last step is not the last.
    last_full = bool(target[-1] <= source[-1]) and total - 1 in inside
    pattern = tuple(sorted({begin, *inside}))  # a run begins without anchors

    def scaled(steps: float) -> int:
        return _half_up(num_steps * steps / (end - begin))

    leading = next(n for n in itertools.count() if begin + n not in pattern)
    first = min(leading, FIRST_FULL * total / FIRST_OF)
    first_full = min(num_steps, max(1, min_anchors, scaled(first)))
    floor = min(len(pattern), _half_up(MIN_FULL * (end - begin) / total))
    count = min(num_steps, max(scaled(len(pattern)), floor, first_full + last_full))
    longest = _longest_run(schedule, source, begin, end) * max(1, len(pattern) / count)
    return Grids(
        pattern, max(1, _half_up(first)), (begin, end), source, target, count, first_full,
        last_full, min_anchors, longest,
    )  # fmt: skip


def _covered(source: np.ndarray, target: np.ndarray) -> tuple[int, int]:
    """The steps of the source whose middle lies in the target's range: first, and after the last.

    A run that begins less than one of its steps below the source covers its begin: some schedulers
    leave pure noise out. At least the step in which the target begins is covered.
    """
    middles = (source[:-1] + source[1:]) / 2
    begins = source[0] - target[0] <= target[0] - target[1]
    begin = 0 if begins else int(np.sum(middles >= target[0]))
    begin = min(begin, len(middles) - 1)
    return begin, max(begin + 1, int(np.sum(middles > target[-1])))


def _longest_run(schedule: Schedule, source: np.ndarray, begin: int, end: int) -> float:
    """From an anchor to where the next full step begins, of the cached runs in a range of steps."""
    runs = itertools.pairwise((*schedule.full_steps, schedule.num_steps))
    touching = [(a, b) for a, b in runs if b - a > 1 and a < end and b > begin]
    return max((float(source[a] - source[b]) for a, b in touching), default=0.0)


def _at_ranks(values: np.ndarray, grids: Grids) -> np.ndarray:
    """F order statistics of the source's values, interpolated between them.

    The last of the forced first steps stands for the source's last one of these, so that three of
    50 weigh no more than one of 20; after it ranks are even.
    """
    forced = (grids.first_full - 1, grids.num_full - 1), (grids.source_first - 1, len(values) - 1)
    ranks = np.interp(np.arange(grids.num_full), *forced)
    return np.interp(ranks, np.arange(len(values)), values)


def _positions(wanted: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Where on a falling grid these levels are, as fractional steps."""
    return np.interp(-wanted, -grid, np.arange(len(grid)))


def _uniform(grids: Grids, first_full: int) -> Schedule:
    first_full = max(first_full, grids.min_anchors)
    if grids.last_full:
        return uniform(grids.num_steps, grids.num_full, first_full)
    # What comes after this run begins with a full step.
    longer = uniform(grids.num_steps + 1, grids.num_full + 1, first_full)
    return Schedule(longer.full_steps[:-1], grids.num_steps)


def _nearest(wanted: np.ndarray, grids: Grids) -> Schedule:
    """The schedule nearest to fractional steps ``[F]`` that keeps what ``Grids`` asks for."""
    steps = np.arange(grids.num_steps)
    runs, tail = _cached_runs(grids)
    # As the k-th full step is chosen, the least cost of a schedule that has it at each step.
    placed = grids.first_full - 1
    longest = np.where(steps == placed, 0.0, math.inf)
    for _ in range(placed + 1, grids.num_full):
        longest = np.maximum(longest[:, None], runs).min(0)
    limit = max(grids.longest, float(np.maximum(longest, tail).min())) + 1e-9  # or what is possible
    runs, tail = np.where(runs > limit, math.inf, 0.0), np.where(tail > limit, math.inf, 0.0)
    cost, before = np.where(steps == placed, 0.0, math.inf), []
    for k in range(placed + 1, grids.num_full):
        ways = cost[:, None] + runs
        before.append(ways.argmin(0))
        cost = ways.min(0) + (steps - wanted[k]) ** 2
    chosen = [int((cost + tail).argmin())]
    for earlier in reversed(before):
        chosen.append(int(earlier[chosen[-1]]))
    return Schedule((*range(placed), *chosen), grids.num_steps)


def _cached_runs(grids: Grids) -> tuple[np.ndarray, np.ndarray]:
    """Noise-level distance between full steps ``[N, N]``, and from the last one to the end ``[N]``.

    0 where no step between is cached, infinite where there is no way.
    """
    level, steps = grids.target_levels, np.arange(grids.num_steps)
    ahead = steps[None, :] - steps[:, None]
    runs = np.where(ahead > 1, level[:-1, None] - level[None, :-1], 0.0)
    runs[ahead < 1] = math.inf
    tail = level[:-1] - level[-1]
    tail[-1] = 0.0
    if grids.last_full:
        tail[:-1] = math.inf
    return runs, tail


def _half_up(value: float) -> int:
    return math.floor(value + 0.5)
