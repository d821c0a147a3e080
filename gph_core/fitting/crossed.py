"""Runs that each go on under weights fitted to the others: what weights are worth on new runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from ..policies.weights import Weights
from ..schedule import Schedule
from ..search.prefix import PrefixMemory
from .closed_loop import ClosedLoop, Course, Loop, Toward, policy_of, repeated
from .steps import Steps


@dataclass(frozen=True)
class Crossing:
    """Runs before a step, each on a course of its own.

    Args:
        made: weights that are fitted to all runs, by step so far.
    """

    courses: Sequence[Course]
    made: Sequence[Weights]

    @property
    def step(self) -> int:
        return len(self.made)

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors that it keeps alive; crossings share velocities."""
        return [tensor for course in self.courses for tensor in course.tensors]


def crossed(
    schedule: Schedule,
    steps: Steps,
    states: Callable[[int], Sequence[Tensor]],
    velocities: Callable[[int, list[Tensor]], Sequence[Tensor]],
    toward: Toward = repeated,
    memory: PrefixMemory[Crossing] | None = None,
) -> ClosedLoop:
    """Go on with all runs together, each under weights that are fitted to the others.

    So every run meets weights that were not fitted to it, as later runs will; only how strongly
    they are held was chosen with all. The weights that are returned are fitted to all, from the
    states on this way. Other arguments as of ``fit``.
    """
    starts = states(0)
    numbers = range(len(starts))
    others = [[other for other in numbers if other != run] or [run] for run in numbers]
    given: dict[str, Sequence[Tensor]] = {}  # of all runs at the step at hand

    def loop_of(run: int) -> Loop:
        return Loop(
            schedule, steps, lambda _: [given["wanted"][run]], lambda *_: [given["found"][run]]
        )  # fmt: skip

    loops = [loop_of(run) for run in numbers]
    at = memory.longest(None, schedule) if memory else None
    at = at or Crossing([Course(0, [start], {}, [], []) for start in starts], ())
    while at.step < len(steps.moves):
        used: list[Weights] = [()] * len(numbers)
        whole: Weights = ()
        if at.step in schedule.full_steps:
            found = velocities(at.step, [course.now[0] for course in at.courses])
            # What not all runs have gets no weight.
            fewest = min(map(len, found))
            given["found"] = [of_run[:fewest] for of_run in found]
        else:
            given["wanted"] = states(at.step + 1)
            pairs = list(zip(loops, at.courses, strict=True))
            products = [loop.products(course)[0] for loop, course in pairs]
            fits = loops[0].fits(at.courses[0], products, toward)
            used = [
                loop.weights(course, fits.weights(some), course.made)
                for (loop, course), some in zip(pairs, others, strict=True)
            ]
            whole = loops[0].weights(at.courses[0], fits.weights(numbers), at.made)
        courses = [
            loop.after(course, weights)
            for loop, course, weights in zip(loops, at.courses, used, strict=True)
        ]
        at = Crossing(courses, (*at.made, whole))
        if memory and memory.wants(None, schedule, at.step):
            memory.keep(None, schedule, at)
    return ClosedLoop(policy_of(schedule, at.made), [course.now[0] for course in at.courses])
