"""Examples of a search that fits weights to every schedule which it scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ...gph_core.calibration.closed_loop import ClosedLoop, fit
from ...gph_core.policies.fitted import Fitted
from ...gph_core.quality.objective import Metrics
from ...gph_core.schedule import Schedule
from ...gph_core.search.study import Measurement
from ..sample.assessing import Output
from ..sample.euler import Velocities, in_place_of
from ..sample.measuring import SampledExamples
from ..sample.references import Batch
from ..sample.sampler_variants import reporting_states
from ..sample.sampling import CPU, Sampling


class FittedExamples:
    """Scoring examples under weights that were fitted to the others of them.

    Weights of one half of the examples score the other half, both ways: on its own examples a fit
    looks better than it is. The delivered weights come from all examples.

    Args:
        examples: with their full runs.
        conditions: of the fitted weights.
    """

    def __init__(self, examples: SampledExamples, conditions: Mapping[str, Any]) -> None:
        self._examples, self._conditions = examples, conditions
        self._states: dict[Sequence[int], list[Tensor]] = {}  # of a batch's full run
        self._metrics: dict[Schedule, list[Metrics]] = {}
        self._policies: dict[Schedule, Fitted] = {}

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def notes(self) -> list[str]:
        return self._examples.notes

    def begin(self) -> None:
        """Compute the full runs, and the states on their way."""
        self._examples.begin()
        for batch in self._batches():
            if batch.numbers not in self._states:
                self._states[batch.numbers] = _states_of(batch.sampling)

    def forget(self) -> None:
        self._examples.forget()
        self._states.clear()

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        """Metrics of some examples; the first call for a schedule runs all of them."""
        full_steps = 0
        if schedule not in self._metrics:
            self._metrics[schedule] = self._cross_fitted(schedule)
            full_steps = 2 * schedule.num_full * len(self)
        found = self._metrics[schedule]
        return Measurement([found[number] for number in examples], full_steps)

    def policy_for(self, schedule: Schedule) -> Fitted:
        """Weights of a schedule, fitted to all examples."""
        if schedule not in self._policies:
            self.begin()
            policy = self._fitted(schedule, range(len(self))).policy
            self._policies[schedule] = replace(policy, conditions=self._conditions)
        return self._policies[schedule]

    def _cross_fitted(self, schedule: Schedule) -> list[Metrics]:
        numbers = range(len(self))
        halves = (numbers[::2], numbers[1::2]) if len(self) > 1 else (numbers, numbers)
        found: dict[int, Metrics] = {}
        for one, other in (halves, halves[::-1]):
            ends = self._fitted(schedule, one).ends
            found |= {number: self._assessed(number, ends[number]) for number in other}
        return [found[number] for number in numbers]

    def _fitted(self, schedule: Schedule, fitted_on: Sequence[int]) -> ClosedLoop:
        batches, states = self._batches(), self._states

        def of_examples(parts: Sequence[Tensor]) -> list[Tensor]:
            found = {
                number: item[None]
                for batch, part in zip(batches, parts, strict=True)
                for number, item in zip(batch.numbers, part, strict=True)
            }
            return [found[number] for number in range(len(self))]

        def reference(step: int) -> list[Tensor]:
            return of_examples([states[batch.numbers][step] for batch in batches])

        def velocities(step: int, now: list[Tensor]) -> list[Tensor]:
            return of_examples(
                [
                    _velocity(b.sampling, step, torch.cat([now[n] for n in b.numbers]))
                    for b in batches
                ]
            )

        sigmas = batches[0].sampling.sigmas.tolist()
        return fit(schedule, sigmas, reference(0), reference, velocities, fitted_on)

    def _assessed(self, number: int, end: Tensor) -> Metrics:
        references = self._examples.references
        for batch in self._batches():
            if number in batch.numbers:
                place = batch.numbers.index(number)
                reference = references.of(batch)
                single = Output(
                    reference.latents[place : place + 1], reference.images[place : place + 1]
                )
                sampling = references.prepare([number])
                assert sampling is not None
                latent = _output(sampling, end)
                (metrics,) = references.assessor.metrics(references.assessor.result(latent), single)
                return metrics
        raise IndexError(number)

    def _batches(self) -> list[Batch]:
        return self._examples.references.batches()


class FittedValidation:
    """Validation examples under weights that were fitted to the scoring examples."""

    def __init__(self, examples: SampledExamples, policy_for: Callable[[Schedule], Fitted]) -> None:
        self._examples, self._policy_for = examples, policy_for

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def batch(self) -> int:
        return self._examples.batch

    @property
    def notes(self) -> list[str]:
        return self._examples.notes

    def begin(self) -> None:
        self._examples.begin()

    def forget(self) -> None:
        self._examples.forget()

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        return self._examples.under(self._policy_for(schedule)).measure(schedule, examples)


def _states_of(sampling: Sampling) -> list[Tensor]:
    """States of the full run of a batch, in main memory."""
    states: list[Tensor] = []
    sampler = reporting_states(sampling.sampler, lambda x: states.append(x.to(CPU, copy=True)))
    replace(sampling, sampler=sampler).full()
    return states


def _velocity(sampling: Sampling, step: int, state: Tensor) -> Tensor:
    """Guided velocity of a batch at a step, in main memory."""
    found: list[Tensor] = []

    def work(velocities: Velocities, start: Tensor) -> Tensor:
        found.append(velocities.at(step, state.to(start)).to(CPU))
        return start

    replace(sampling, sampler=in_place_of(sampling.sampler, work)).full()
    return found[0]


def _output(sampling: Sampling, end: Tensor) -> Tensor:
    """Latent of a run that ends in a state."""
    sampler = in_place_of(sampling.sampler, lambda _, start: end.to(start))
    return replace(sampling, sampler=sampler).full()
