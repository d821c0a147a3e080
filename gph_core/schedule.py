"""Schedule: which of N denoising steps are computed in full.

Step n maps state n to state n + 1; step 0 is the noisiest. A step that is not full is cached.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import schedule_text


@dataclass(frozen=True, slots=True)
class Schedule:
    """The full steps of a run of ``num_steps`` steps; immutable and hashable.

    Step 0 must be full: before it there is nothing to predict from.
    """

    full_steps: tuple[int, ...]
    num_steps: int

    def __post_init__(self) -> None:
        steps = tuple(sorted(set(self.full_steps)))
        if self.num_steps < 1:
            raise ValueError(f"a schedule needs at least one step, got {self.num_steps}")
        if steps and not 0 <= steps[0] <= steps[-1] < self.num_steps:
            outside = steps[0] if steps[0] < 0 else steps[-1]
            raise ValueError(
                f"step {outside} is outside the schedule; "
                f"{self.num_steps} steps are numbered 0 to {self.num_steps - 1}"
            )
        if not steps or steps[0] != 0:
            raise ValueError(
                "step 0 is cached, but nothing is computed before it; make step 0 full"
            )
        object.__setattr__(self, "full_steps", steps)

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read ``0-3,5,8/50`` (full steps, then N) or a bit string, ``1`` = cached."""
        return cls(*schedule_text.parse(text))

    @classmethod
    def all_full(cls, num_steps: int) -> Schedule:
        """The schedule without a cached step."""
        return cls(tuple(range(num_steps)), num_steps)

    def __str__(self) -> str:
        return schedule_text.write(self.full_steps, self.num_steps)

    @property
    def bits(self) -> str:
        """One character a step, ``1`` = cached, as the papers write it."""
        full = set(self.full_steps)
        return "".join("0" if n in full else "1" for n in range(self.num_steps))

    def check_covers(self, num_steps: int) -> None:
        """Raise ``ValueError`` unless the schedule has so many steps."""
        if self.num_steps != num_steps:
            raise ValueError(
                f"the schedule covers {self.num_steps} steps but the sampler runs {num_steps}; "
                "set the same step count, or choose a speed that fits any step count"
            )

    @property
    def num_full(self) -> int:
        """Full steps, F."""
        return len(self.full_steps)

    @property
    def cached_steps(self) -> tuple[int, ...]:
        """The steps that are not full."""
        full = set(self.full_steps)
        return tuple(n for n in range(self.num_steps) if n not in full)

    @property
    def first_cached(self) -> int | None:
        """The first step that is not full; None if all are."""
        return next(iter(self.cached_steps), None)

    @property
    def num_cached(self) -> int:
        """Cached steps, K."""
        return self.num_steps - self.num_full

    @property
    def cache_ratio(self) -> float:
        """K / N."""
        return self.num_cached / self.num_steps

    def distance(self, other: Schedule) -> int:
        """Hamming distance: the number of steps on which two schedules of one length differ."""
        if self.num_steps != other.num_steps:
            raise ValueError(
                f"schedules of {self.num_steps} and {other.num_steps} steps have no distance"
            )
        return len(set(self.full_steps) ^ set(other.full_steps))

    def part(self, first: int, num_steps: int, first_full: int = 1) -> Schedule:
        """The schedule of a run that takes only some of the steps.

        A run begins without anchors, so its first ``first_full`` steps are full.
        """
        if not 0 <= first < first + num_steps <= self.num_steps:
            raise ValueError(
                f"steps {first} to {first + num_steps - 1} are not part of {self.num_steps} steps"
            )
        inside = (step - first for step in self.full_steps if first <= step < first + num_steps)
        return Schedule((*range(min(first_full, num_steps)), *inside), num_steps)

    def swap(self, full_step: int, cached_step: int) -> Schedule:
        """The schedule in which ``full_step`` is cached and ``cached_step`` full instead."""
        full = set(self.full_steps)
        if full_step not in full or cached_step in full:
            raise ValueError(
                f"a swap needs a full and a cached step; in {self} "
                f"step {full_step} is {'full' if full_step in full else 'cached'}, "
                f"step {cached_step} is {'full' if cached_step in full else 'cached'}"
            )
        return Schedule(tuple(full - {full_step} | {cached_step}), self.num_steps)


def uniform(num_steps: int, num_full: int, first_full: int = 3) -> Schedule:
    """Full steps as evenly spaced as possible between the first ``first_full`` and step N - 1.

    If ``num_full`` is too small for all of these, the first ones are dropped, the last of them
    first, then N - 1; step 0 is always full.

    Source: the GPH paper's rule for video, ``extra_i = 2 + floor((i + 1)(N - 3) / (m + 1))`` for
    m extra steps and three first ones.
    """
    if not 1 <= num_full <= num_steps:
        raise ValueError(f"{num_full} full steps do not fit into {num_steps} steps")
    if first_full < 1:
        raise ValueError(f"{first_full} first steps cannot be full; at least one has to be")
    first = min(first_full, num_steps)
    forced = list(dict.fromkeys((0, num_steps - 1, *range(1, first))))[:num_full]
    extra = num_full - len(forced)
    spaced = [first - 1 + (i + 1) * (num_steps - first) // (extra + 1) for i in range(extra)]
    return Schedule((*forced, *spaced), num_steps)


def image_uniform(num_steps: int, num_full: int) -> Schedule:
    """Like ``uniform``, but picks evenly by rank among the free steps.

    The first and the last free step are always among them, so full steps stand right beside forced
    ones. Halves are rounded to even ranks.

    Source: the GPH paper's rule for images.
    """
    if not 1 <= num_full <= num_steps:
        raise ValueError(f"{num_full} full steps do not fit into {num_steps} steps")
    first = range(min(3, num_steps))
    forced = list(dict.fromkeys((0, num_steps - 1, *first)))[:num_full]
    others = [step for step in range(num_steps) if step not in forced]
    extra = num_full - len(forced)
    if extra == 1:
        return Schedule((*forced, others[len(others) // 2]), num_steps)
    # No two ranks are equal: the stride is at least 1, and exact if it is 1.
    places = [round(i * (len(others) - 1) / (extra - 1)) for i in range(extra)]
    return Schedule((*forced, *(others[place] for place in places)), num_steps)


@dataclass(frozen=True, slots=True)
class ScheduleSpace:
    """All schedules of N steps with exactly ``num_cached`` cached and some required full."""

    num_steps: int
    num_cached: int
    required_full: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        required = tuple(sorted({0, *self.required_full}))
        if required[0] < 0 or required[-1] >= self.num_steps:
            raise ValueError(
                f"required steps {required} are outside the {self.num_steps} steps of the run"
            )
        if not 0 <= self.num_cached <= self.num_steps - len(required):
            raise ValueError(
                f"{self.num_cached} of {self.num_steps} steps cannot be cached while "
                f"{len(required)} are required full"
            )
        object.__setattr__(self, "required_full", required)

    @property
    def free_steps(self) -> tuple[int, ...]:
        """Steps that may be full or cached."""
        required = set(self.required_full)
        return tuple(n for n in range(self.num_steps) if n not in required)

    @property
    def size(self) -> int:
        """Number of schedules in the space."""
        return math.comb(len(self.free_steps), self.num_cached)

    def __contains__(self, schedule: Schedule) -> bool:
        return (
            schedule.num_steps == self.num_steps
            and schedule.num_cached == self.num_cached
            and set(self.required_full) <= set(schedule.full_steps)
        )

    def __iter__(self) -> Iterator[Schedule]:
        """Every schedule once, in lexicographic order of the full steps."""
        for chosen in itertools.combinations(self.free_steps, self._num_free_full):
            yield self._with(chosen)

    def sample(self, rng: random.Random) -> Schedule:
        """A schedule drawn uniformly."""
        return self._with(rng.sample(self.free_steps, self._num_free_full))

    def movable_steps(self, schedule: Schedule) -> tuple[int, ...]:
        """The full steps of a schedule that are not required."""
        return tuple(n for n in schedule.full_steps if n not in self.required_full)

    def neighbors(self, schedule: Schedule) -> list[Schedule]:
        """All schedules one swap away, in a fixed order."""
        if schedule not in self:
            raise ValueError(f"{schedule} is not in this space")
        cached = schedule.cached_steps
        return [schedule.swap(a, b) for a in self.movable_steps(schedule) for b in cached]

    @property
    def _num_free_full(self) -> int:
        return len(self.free_steps) - self.num_cached

    def _with(self, chosen: Sequence[int]) -> Schedule:
        return Schedule((*self.required_full, *chosen), self.num_steps)
