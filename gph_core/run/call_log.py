"""The model calls of one run: their steps, kinds and times."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: its step (None between grid points), kind and start time in seconds."""

    evaluation: int  # of the sampler; it may take several calls
    step: int | None
    cached: bool
    started: float


class CallLog:
    """The calls so far, in order."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._evaluation: int | None = None  # each call is one, unless the sampler's are told

    def begin_evaluation(self) -> None:
        """The sampler evaluates the model anew: the calls from here on belong together."""
        self._evaluation = 0 if self._evaluation is None else self._evaluation + 1

    def begin(self, step: int | None, cached: bool) -> int:
        """A call begins; returns its number."""
        number = len(self._calls)
        evaluation = number if self._evaluation is None else self._evaluation
        self._calls.append(Call(evaluation, step, cached, time.perf_counter()))
        return number

    def settle(self, number: int, cached: bool) -> None:
        """The kind of a call is known only now."""
        self._calls[number] = replace(self._calls[number], cached=cached)

    def steps(self, cached: bool) -> tuple[int, ...]:
        """The steps that were cached, or those that were not: one full call makes a step full."""
        met = {call.step for call in self._calls if call.step is not None}
        full = {call.step for call in self._calls if call.step is not None and not call.cached}
        return tuple(sorted(met - full if cached else full))

    def seconds(self, cached: bool, ended: float) -> tuple[float, ...]:
        """Seconds of a kind of calls, by evaluation: on a GPU only the last call of one waits."""
        ends = [*(call.started for call in self._calls[1:]), ended]
        times: dict[int, float] = {}
        for call, end in zip(self._calls, ends, strict=False):  # no call: one end, no begin
            if call.cached == cached:
                times[call.evaluation] = times.get(call.evaluation, 0.0) + end - call.started
        return tuple(times.values())
