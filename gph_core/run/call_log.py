"""The model calls of one run: their steps, kinds and times.

A sampler may tell the model other noise levels than those of its steps. Then order identifies the
steps: the evaluations between two reports of the sampler belong to one step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..schedule import Schedule
from .levels import NoiseLevels

BETWEEN = "evaluations between two steps were computed in full"
OTHER_LEVELS = (
    "caching stopped because the sampler tells the model other noise levels than those of its "
    "steps, and which step is which cannot be told; choose a sampler that evaluates the model once "
    "a step, such as euler"
)
UNASKED = "the model was not asked at some steps, which count as planned"
UNSURE = (
    "steps were computed in full until it was sure that the sampler evaluates the model once a "
    "step: it tells the model other noise levels than those of its steps"
)
_SURE = 2  # steps of one evaluation each in a row, after which every step is taken to have one


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: its step (None if it is not known), kind and start time in seconds."""

    evaluation: int  # of the sampler; it may take several calls
    step: int | None
    is_on_level: bool  # the noise level is that of the step
    cached: bool
    started: float


class CallLog:
    """The calls so far, in order.

    Args:
        sigmas: noise levels of the run's steps, and that at its end.
    """

    def __init__(self, sigmas: Sequence[float]) -> None:
        self.levels = NoiseLevels(sigmas)
        self._tells_other_levels = False  # all evaluations of some step were off its noise level
        self._calls: list[Call] = []
        self._unasked: dict[int, bool] = {}  # steps without a call; whether they were to be cached
        self._evaluation: int | None = None  # None: each call counts as one
        self._done = 0  # steps that the sampler has reported
        self._first = 0  # the first call after them
        self._asked = 0  # evaluations after them
        self._alone = 0  # steps of one evaluation, up to the first other one

    def begin_evaluation(self) -> None:
        """Note a new evaluation by the sampler; the calls from here on belong to it."""
        self._evaluation = 0 if self._evaluation is None else self._evaluation + 1
        self._asked += 1

    def step_at(self, sigma: float) -> tuple[int | None, int | None]:
        """Step of an evaluation at a noise level, and the one that it may turn out to belong to.

        Only ``step_done`` confirms the second, as another evaluation may follow within the step.
        """
        by_level = self.levels.step_at(sigma)
        if by_level is not None and not self._tells_other_levels:
            return by_level, None
        # Each step so far took one evaluation, and so may this one.
        is_orderly = self._asked == 1 and self._alone == self._done < self.levels.num_steps
        if not is_orderly or by_level == self._done:
            return by_level, None
        is_sure = self._done == 0 or self._alone >= _SURE
        return (self._done, None) if is_sure else (None, self._done)

    def step_done(self, step: int, is_planned_cached: bool = False) -> bool:
        """Note that the sampler reports a step as done; the evaluations since the last are its.

        Returns whether their step was not known before, so that they were in full.
        """
        if not 0 <= step < self.levels.num_steps:
            return False
        self._alone += int(self._asked == 1 and step == self._alone)
        of_step = self._calls[self._first :]
        is_off_level = bool(of_step) and not any(call.is_on_level for call in of_step)
        is_news = is_off_level and any(call.step is None for call in of_step)
        if is_news:
            self._calls[self._first :] = [replace(call, step=step) for call in of_step]
        if not of_step and all(call.step != step for call in self._calls):
            self._unasked[step] = is_planned_cached
        self._tells_other_levels |= is_off_level
        self._done, self._asked, self._first = step + 1, 0, len(self._calls)
        return is_news

    def all_done(self) -> None:
        """Note the end of the run: steps without a report or a call were in full."""
        unknown = sorted({call.evaluation for call in self._calls if call.step is None})
        missing = sorted(set(range(self.levels.num_steps)) - {call.step for call in self._calls})
        if missing and len(unknown) >= len(missing):
            self._tells_other_levels = True
            places = dict(zip(unknown, missing, strict=False))
            self._calls = [
                replace(call, step=places.get(call.evaluation)) if call.step is None else call
                for call in self._calls
            ]

    @property
    def fault(self) -> str:
        """Why neither noise levels nor order identify the steps; empty if one of them does."""
        is_orderly = 0 < self._done == self._alone
        return OTHER_LEVELS if self._tells_other_levels and not is_orderly else ""

    @property
    def remark(self) -> str:
        """Remark on calls that belong to no step, and steps without a call; empty without any."""
        done = self._calls[: self._first] if self._done else self._calls
        is_between = any(call.step is None for call in done) and not self._tells_other_levels
        return "; ".join([BETWEEN] * is_between + [UNASKED] * bool(self._unasked))

    def begin(self, sigma: float, cached: bool) -> int:
        """Note the begin of a call at a noise level and return its number."""
        step, _ = self.step_at(sigma)
        is_on_level = step is not None and step == self.levels.step_at(sigma)
        number = len(self._calls)
        evaluation = number if self._evaluation is None else self._evaluation
        self._calls.append(Call(evaluation, step, is_on_level, cached, time.perf_counter()))
        return number

    def settle(self, number: int, cached: bool) -> None:
        """Note the kind of a call, which is known only now."""
        self._calls[number] = replace(self._calls[number], cached=cached)

    @property
    def evaluation(self) -> int | None:
        """Number of the present evaluation; None before the first one."""
        return self._evaluation

    def kinds(self) -> dict[int | None, tuple[int | None, bool]]:
        """Step of each evaluation that made calls, and whether all of them were cached."""
        kinds: dict[int | None, tuple[int | None, bool]] = {}
        for call in self._calls:
            _, is_cached = kinds.get(call.evaluation, (None, True))
            kinds[call.evaluation] = call.step, is_cached and call.cached
        return kinds

    def steps(self, cached: bool) -> tuple[int, ...]:
        """The steps that were cached, or those that were full: one full call makes a step full."""
        kinds = [(call.step, call.cached) for call in self._calls if call.step is not None]
        kinds += self._unasked.items()
        met = {step for step, _ in kinds}
        full = {step for step, is_cached in kinds if not is_cached}
        return tuple(sorted(met - full if cached else full))

    def figures(self, ended: float) -> dict[str, Any]:
        """Steps and seconds of each kind, by their names in a record."""
        return {
            "full_steps": self.steps(cached=False),
            "cached_steps": self.steps(cached=True),
            "full_seconds": self.seconds(False, ended),
            "cached_seconds": self.seconds(True, ended),
        }

    def seconds(self, cached: bool, ended: float) -> tuple[float, ...]:
        """Seconds of a kind of calls, by evaluation: on a GPU only its last call waits."""
        ends = [*(call.started for call in self._calls[1:]), ended]
        times: dict[int, float] = {}
        for call, end in zip(self._calls, ends, strict=False):  # without calls there is one end
            if call.cached == cached:
                times[call.evaluation] = times.get(call.evaluation, 0.0) + end - call.started
        return tuple(times.values())


class StepKinds:
    """Kinds of the steps of a run, as planned and as the run changes them.

    Args:
        on_step: receives a step and its kind, ``full``, ``cached`` or ``refused`` (full against the
            schedule), as soon as it is known; again if a later call of the step changes it.
    """

    def __init__(
        self, schedule: Schedule, on_step: Callable[[int, str], None] | None = None
    ) -> None:
        self._num_steps = schedule.num_steps
        self._full = set(schedule.full_steps)
        self._on_step = on_step
        self._reported: dict[int, str] = {}

    @property
    def schedule(self) -> Schedule:
        """The schedule with all changes so far."""
        return Schedule(tuple(self._full), self._num_steps)

    def is_full(self, step: int) -> bool:
        """Whether a step is to be full."""
        return step in self._full

    def newest_full(self, step: int) -> int:
        """The last full step before a step; 0 if there is none."""
        return max((n for n in self._full if n < step), default=0)

    def make_full(self, step: int) -> None:
        """Compute a step in full, whatever the schedule says."""
        self._full.add(step)

    def make_cached(self, step: int) -> None:
        """Cache a step, whatever the schedule says."""
        self._full.discard(step)

    def tell(self, step: int, cached: bool) -> None:
        """Report the kind of a step, if it is new; one full call makes the step full."""
        kind = "cached" if cached else "full" if self.is_full(step) else "refused"
        if self._on_step and self._reported.get(step) not in (kind, "refused"):
            self._reported[step] = kind
            self._on_step(step, kind)
