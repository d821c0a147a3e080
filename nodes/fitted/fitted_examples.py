"""Examples of a search that fits weights to every schedule which it scores."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import folder_paths
import torch
from torch import Tensor

from ...gph_core.calibration.closed_loop import ClosedLoop, Course, Fitting, finished, fitting
from ...gph_core.calibration.steps import Steps
from ...gph_core.files.run_states import RunStates
from ...gph_core.policies.fitted import Fitted
from ...gph_core.quality.objective import Metrics
from ...gph_core.schedule import Schedule
from ...gph_core.search.prefix import PrefixMemory
from ...gph_core.search.study import Measurement
from ..sample.euler import Velocities, in_place_of
from ..sample.measuring import SampledExamples
from ..sample.references import Batch
from ..sample.sampler_variants import ending_at, reporting_evaluated
from ..sample.sampling import CPU, Sampling
from .sampler_steps import steps_of

STATES_IN_MEMORY = 2**30  # bytes of the full runs; 16 examples of 50 steps of FLUX have 0.8 GiB


class FittedExamples:
    """Scoring examples under weights that were fitted to the others of them.

    Weights of one half of the examples score the other half, both ways: on its own examples a fit
    looks better than it is. The delivered weights come from all examples.

    Args:
        examples: with their full runs.
        conditions: of the fitted weights.
        memory: of states from which runs under other schedules go on; none: always from the start.
    """

    def __init__(
        self,
        examples: SampledExamples,
        conditions: Mapping[str, Any],
        memory: PrefixMemory[Course] | None = None,
    ) -> None:
        self._examples, self._conditions, self._memory = examples, conditions, memory
        self._batches: Sequence[Batch] = ()  # that the states in memory are of
        self.full_steps = 0  # of all examples, in the measurement at hand
        self._watched: set[int] = set()  # examples whose full runs' states are known
        self._metrics: dict[Schedule, list[Metrics]] = {}

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def notes(self) -> list[str]:
        return self._examples.notes

    def begin(self) -> None:
        """Compute the full runs, and keep the states on their way."""
        self._examples.fitting(self._watch)

    def forget(self) -> None:
        """Free all but the states of the full runs: weights of what is delivered need them."""
        self._examples.forget()
        if self._memory is not None:
            self._memory.clear()

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        """Metrics of some examples; the first call for a schedule runs all of them."""
        self.full_steps = 0
        if schedule not in self._metrics:
            self._metrics[schedule] = self._examples.fitting(lambda: self._cross_fitted(schedule))
        found = self._metrics[schedule]
        return Measurement([found[number] for number in examples], self.full_steps)

    def policy_for(self, schedule: Schedule) -> Fitted:
        """Weights of a schedule, fitted to all examples."""
        self.begin()
        numbers = range(len(self))
        found = self._examples.fitting(lambda: self._fitted(schedule, numbers))
        return replace(found.policy, conditions=self._conditions, examples=len(self))

    @cached_property
    def _states(self) -> RunStates:
        """States of the full runs, ``[1, ...]`` each."""
        folder = Path(folder_paths.get_temp_directory())
        return RunStates(len(self), len(self._steps.moves) + 1, folder, STATES_IN_MEMORY)

    @cached_property
    def _steps(self) -> Steps:
        one = self._examples.references.batches()[0].sampling
        return steps_of(one.sampler, one.sigmas.tolist(), one.guider.model_patcher)

    def _watch(self) -> None:
        """Compute full runs whose states are not known."""
        references = self._examples.references
        for batch in references.batches():
            if self._watched.issuperset(batch.numbers):
                continue
            steps = itertools.count()

            def keep(state: Tensor, numbers=batch.numbers, steps=steps) -> None:
                step = next(steps)
                for number, one in zip(numbers, state.split(1), strict=True):
                    self._states.keep(number, step, one)

            sampler = reporting_evaluated(batch.sampling.sampler, keep)
            watched = replace(batch.sampling, sampler=sampler)
            if batch.reference is None:
                references.of(batch, watched)
            else:  # another policy's search has it
                watched.full()
            self._watched.update(batch.numbers)

    def _cross_fitted(self, schedule: Schedule) -> list[Metrics]:
        """Metrics of all examples, each under weights that were fitted to the other half."""
        numbers = range(len(self))
        halves = (numbers[::2], numbers[1::2]) if len(self) > 1 else (numbers, numbers)
        ends: dict[int, Tensor] = {}
        for one, other in (halves, halves[::-1]):
            found = self._fitted(schedule, one).ends
            ends |= {number: found[number] for number in other}
        return self.metrics_of(ends, numbers)

    def metrics_of(self, ends: Mapping[int, Tensor], numbers: Sequence[int]) -> list[Metrics]:
        """Metrics of some examples, from where all runs have ended."""
        metrics: dict[int, Metrics] = {}
        references = self._examples.references
        for batch in references.batches():
            reference = references.of(batch)
            end = torch.cat([ends[n] for n in batch.numbers])
            sampler = ending_at(batch.sampling.sampler, end, self._steps.end_level)
            latent = replace(batch.sampling, sampler=sampler).full()
            result = references.assessor.result(latent, batch.sampling.prompts)
            measured = references.assessor.metrics(result, reference)
            metrics |= dict(zip(batch.numbers, measured, strict=True))
        return [metrics[number] for number in numbers]

    def known_until(self, schedule: Schedule, name: tuple[int, ...]) -> int:
        """Step from which a fit of a name could go on, thanks to earlier ones."""
        course = self._longest(schedule, name)
        return course.step if course else 0

    def going(
        self,
        schedule: Schedule,
        fitted_on: Sequence[int],
        name: tuple[int, ...],
        goes_on: bool = True,
    ) -> Fitting:
        """A fit of all examples, which waits for the weights of each cached step.

        Args:
            fitted_on: numbers of the examples here.
            name: numbers of all examples that the weights are fitted to, elsewhere too.
            goes_on: begin where an earlier fit of this name had the same steps.
        """
        references, chosen = self._examples.references, tuple(fitted_on)
        course = self._longest(schedule, name) if goes_on else None
        batches = self._batches

        def states(step: int) -> list[Tensor]:
            return [self._states.at(number, step) for number in range(len(self))]

        def velocities(step: int, now: list[Tensor]) -> list[Tensor]:
            found: dict[int, Tensor] = {}
            for batch in batches:
                references.on_run()
                state = torch.cat([now[number] for number in batch.numbers])
                velocity = _velocity(batch.sampling, step, state)
                self.full_steps += len(batch.numbers)
                found |= dict(zip(batch.numbers, velocity.split(1), strict=True))
            return [found[number] for number in range(len(self))]

        return fitting(
            schedule, self._steps, states(0), states, velocities, chosen, memory=self._memory,
            course=course, name=name,
        )  # fmt: skip

    def _longest(self, schedule: Schedule, name: tuple[int, ...]) -> Course | None:
        batches = self._examples.references.batches()
        if batches is not self._batches and self._memory is not None:
            self._memory.clear()  # batches were halved, which rounds otherwise
        self._batches = batches
        return self._memory.longest(name, schedule) if self._memory else None

    def _fitted(self, schedule: Schedule, fitted_on: Sequence[int]) -> ClosedLoop:
        return finished(self.going(schedule, fitted_on, tuple(fitted_on)))


def _velocity(sampling: Sampling, step: int, state: Tensor) -> Tensor:
    """Guided velocity of a batch at a step, in main memory."""
    found: list[Tensor] = []

    def work(velocities: Velocities, start: Tensor) -> Tensor:
        found.append(velocities.at(step, state.to(start)).to(CPU))
        return start

    replace(sampling, sampler=in_place_of(sampling.sampler, work)).full()
    return found[0]
