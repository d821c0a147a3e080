"""Runner in this process: samples examples under a schedule and compares them with full runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import comfy.model_management
import torch
from torch import Tensor

from ...gph_core.fitting.steps import Steps
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.quality.objective import Metrics
from ...gph_core.run.record import RunRecord
from ...gph_core.schedule import Schedule
from ...gph_core.search.prefix import PrefixMemory, State
from ...gph_core.search.selection import PlainSteps
from ...gph_core.search.study import Measurement
from ..hook import samplers
from .assessing import Assessor
from .euler import velocities_at
from .references import References
from .sampler_steps import steps_of
from .sampler_variants import ending_at, reporting_evaluated
from .sampling import Sampling, equal, require_cached
from .workload import Workload

Result = TypeVar("Result")


@dataclass
class _Memory:
    """States of runs under one policy."""

    states: PrefixMemory[State]
    is_checked: bool = False  # whether a resumed run was compared with a whole one
    is_usable: bool = True
    grouping: Hashable = None  # of the batches that the states belong to


@dataclass
class LocalRunner:
    """Examples of a workload, sampled in this process; see ``Runner``.

    Args:
        assessor: computes the metrics.
        wanted_batch: number of examples to sample at once, where possible.
        counts_check: whether a measurement's full steps include those of the check of states.
    """

    workload: Workload
    assessor: Assessor
    wanted_batch: int = 1
    counts_check: bool = True
    _memories: dict[Policy, _Memory] = field(default_factory=dict)
    _users: set[Policy] = field(default_factory=set)  # policies that still need the full runs

    def __post_init__(self) -> None:
        alone = samplers.is_stochastic(self.workload.sampler)
        self.references = References(
            self.workload, self.assessor, 1 if alone else self.wanted_batch
        )
        if alone and self.wanted_batch > 1:
            self.references.note(
                "the sampler adds noise that depends on the batch, so examples are sampled one "
                "by one"
            )

    def __len__(self) -> int:
        return len(self.workload)

    @property
    def batch(self) -> int:
        return self.references.batch

    @property
    def grouping(self) -> Hashable:
        return tuple(batch.numbers for batch in self.references.batches())

    @property
    def notes(self) -> list[str]:
        return [*self.workload.notes, *self.references.notes]

    def steps(self) -> Steps:
        return steps_of(self.workload.setup)

    def full(self, policy: Policy) -> None:
        self._users.add(policy)
        self.repeated(self.references.ensure)

    def watched(self, keep: Callable[[int, int, Tensor], None], present: Collection[int]) -> None:
        self._users.add(Fitted())
        for batch in self.references.batches():
            if set(present).issuperset(batch.numbers):
                continue
            steps = itertools.count()

            def keep_all(state: Tensor, numbers=batch.numbers, steps=steps) -> None:
                step = next(steps)
                for number, item in zip(numbers, state.split(1), strict=True):
                    keep(number, step, item)

            sampler = reporting_evaluated(batch.sampling.sampler, keep_all)
            sampling = replace(batch.sampling, sampler=sampler)
            if batch.reference is None:
                self.references.of(batch, sampling)
            else:  # another policy's search computed it
                sampling.full()

    def measure(
        self, schedule: Schedule, policy: Policy, examples: Sequence[int], state_bytes: float = 0
    ) -> Measurement:
        return self.repeated(lambda: self._measure(schedule, policy, examples, state_bytes))

    def velocities(self, step: int, states: Mapping[int, Tensor]) -> dict[int, Tensor]:
        by_number: dict[int, Tensor] = {}
        for batch in self.references.batches():
            self.references.on_run()
            state = torch.cat([states[number] for number in batch.numbers])
            velocities = velocities_at(batch.sampling, step, state)
            by_number |= dict(zip(batch.numbers, velocities, strict=True))
        return by_number

    def measure_ends(self, ends: Mapping[int, Tensor], level: float) -> list[Metrics]:
        metrics: dict[int, Metrics] = {}
        for batch in self.references.batches():
            reference = self.references.of(batch)
            end = torch.cat([ends[number] for number in batch.numbers])
            sampler = ending_at(batch.sampling.sampler, end, level)
            latent = replace(batch.sampling, sampler=sampler).full()
            result = self.assessor.result(latent, batch.sampling.prompts)
            measured = self.assessor.metrics(result, reference)
            metrics |= dict(zip(batch.numbers, measured, strict=True))
        return [metrics[number] for number in range(len(self))]

    def repeated(self, work: Callable[[], Result]) -> Result:
        """Result of ``work``, repeated in smaller batches until it fits into memory.

        Raises ``RuntimeError`` if a batch of one does not fit.
        """
        management = comfy.model_management
        while True:
            try:
                return work()
            except (management.OOM_EXCEPTION, management.ACCELERATOR_ERROR) as error:
                if not management.is_oom(error):
                    raise
                self.references.halve(error)

    def forget(self, policy: Policy) -> None:
        self._memories.pop(policy, None)
        self._users.discard(policy)
        if not self._users:
            self.references.empty()

    def _measure(
        self, schedule: Schedule, policy: Policy, examples: Sequence[int], state_bytes: float
    ) -> Measurement:
        by_number: dict[int, Metrics] = {}
        full_steps = 0
        memory = self._memory_of(policy, state_bytes)
        for batch in self.references.batches():
            wanted = set(examples) & set(batch.numbers)
            if not wanted:
                continue
            reference = self.references.of(batch)
            self.references.on_run()
            latent, steps = self._run(batch.sampling, schedule, policy, memory)
            full_steps += steps * len(batch.numbers)
            result = self.assessor.result(latent, batch.sampling.prompts)
            metrics = self.assessor.metrics(result, reference)
            by_number |= {n: m for n, m in zip(batch.numbers, metrics, strict=True) if n in wanted}
        return Measurement([by_number[n] for n in examples], full_steps)

    def _memory_of(self, policy: Policy, state_bytes: float) -> _Memory | None:
        if not state_bytes or not samplers.keeps_nothing(self.workload.sampler):
            return None
        memory = self._memories.setdefault(policy, _Memory(PrefixMemory(state_bytes)))
        if memory.grouping != self.grouping:
            memory.states.clear()
            memory.grouping = self.grouping
        return memory if memory.is_usable else None

    def _run(
        self, sampling: Sampling, schedule: Schedule, policy: Policy, memory: _Memory | None
    ) -> tuple[Tensor, int]:
        """Sample latents, and count the steps computed in full."""
        if isinstance(policy, PlainSteps):
            levels = sampling.sigmas[[*schedule.full_steps, -1]]
            return sampling.plain(levels), schedule.num_full
        if memory is None:
            latent, record = sampling.cached(schedule, policy)
            self._require_cached(schedule.cached_steps, record)
            return latent, len(record.full_steps)
        latent, record = self._resumed(sampling, schedule, policy, memory)
        steps = len(record.full_steps)
        if not memory.is_checked:
            checked = self._check(sampling, schedule, policy, memory, latent)
            steps += checked if self.counts_check else 0
        return latent, steps

    def _resumed(
        self, sampling: Sampling, schedule: Schedule, policy: Policy, memory: _Memory, *before: int
    ) -> tuple[Tensor, RunRecord]:
        latent, record = sampling.resumed(schedule, policy, memory.states, *before)
        # A run that begins at a state continues another one, which was checked.
        is_whole = min(record.full_steps + record.cached_steps, default=0) == 0
        self._require_cached(schedule.cached_steps if is_whole else (), record)
        return latent, record

    def _require_cached(self, planned: Sequence[int], record: RunRecord) -> None:
        if note := require_cached(planned, record):
            self.references.note(note)

    def _check(
        self, sampling: Sampling, schedule: Schedule, policy: Policy, memory: _Memory,
        expected: Tensor,
    ) -> int:  # fmt: skip
        """Repeat the first run from an early state; if it differs, states are no longer used."""
        middle = schedule.num_steps // 2
        again, record = self._resumed(sampling, schedule, policy, memory, middle)
        memory.is_checked = True
        if not equal(again, expected):
            memory.is_usable = False
            memory.states.clear()
            self.references.note(
                "a run that continues from a saved state gives another result, because something "
                "in this workflow keeps a memory of its own. Every run therefore starts from the "
                "beginning"
            )
        return len(record.full_steps)
