"""Measurement of a study's examples: sampled under a schedule, compared with their full run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TypeVar

import comfy.model_management
import torch
from torch import Tensor

from ...gph_core.policies.base import Policy
from ...gph_core.quality.objective import Metrics
from ...gph_core.run.record import RunRecord
from ...gph_core.schedule import Schedule
from ...gph_core.search.prefix import PrefixMemory, State
from ...gph_core.search.selection import PlainSteps
from ...gph_core.search.study import Measurement
from ..hook import samplers
from ..hook.branch_calls import OUT_OF_MEMORY
from .assessing import Assessor
from .references import Batch, References
from .sampling import Sampling

Found = TypeVar("Found")


class SampledExamples:
    """Examples of one model, one policy, one grid of noise levels.

    Args:
        count: how many there are.
        prepare: a ``Sampling`` of the examples of some numbers, None where they cannot be one
            batch.
        policy: of the cached steps.
        assessor: of the metrics.
        memory: of states from which runs under this policy go on; none: always from the start.
        batch: examples that are sampled at once, where they can be.
        on_run: called before each run, of the full ones too.
        on_reference: told after each full run how many examples have theirs, and of how many.
    """

    def __init__(
        self,
        count: int,
        prepare: Callable[[Sequence[int]], Sampling | None],
        policy: Policy,
        assessor: Assessor,
        memory: PrefixMemory[State] | None = None,
        batch: int = 1,
        on_run: Callable[[], None] = lambda: None,
        on_reference: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        self.references = References(count, prepare, assessor, batch, on_run, on_reference)
        self.policy = policy
        self.memory = memory
        self.counts_check = True  # among the full steps of a measurement
        self._is_checked = False
        self._batches: Sequence[Batch] = ()  # that the states in memory are of

    def under(self, policy: Policy, memory: PrefixMemory[State] | None = None) -> SampledExamples:
        """Share references and notes with the same examples under another policy."""
        other = copy.copy(self)
        other.policy, other.memory, other._is_checked = policy, memory, False
        return other

    @property
    def notes(self) -> list[str]:
        """Notes for the user, in sentences, each once."""
        return self.references.notes

    @property
    def batch(self) -> int:
        """Maximal number of examples that are sampled at once."""
        return self.references.batch

    def __len__(self) -> int:
        return self.references.count

    def begin(self) -> None:
        """Compute the references, and find out what can be sampled at once."""
        self.fitting(self.references.ensure)

    def forget(self) -> None:
        """Free references, unless shared, and states; measuring computes them again."""
        self.references, self._batches = self.references.emptied(), ()
        if self.memory is not None:
            self.memory.clear()

    def measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        """Measure metrics of some examples under a schedule.

        Out of memory, batches are halved; a batch of one that does not fit is an error.
        ``ValueError`` says why a schedule has no effect in this workflow.
        """
        return self.fitting(lambda: self._measure(schedule, examples))

    def fitting(self, work: Callable[[], Found]) -> Found:
        """Result of some work, in smaller batches where it does not fit into memory."""
        management = comfy.model_management
        while True:
            try:
                return work()
            except (management.OOM_EXCEPTION, management.ACCELERATOR_ERROR) as error:
                if not management.is_oom(error):
                    raise
                self.halve(error)

    def halve(self, error: Exception) -> None:
        """Begin again with smaller batches, after the device ran out of memory."""
        self.references.halve(error)
        if self.memory is not None:
            self.memory.clear()

    def _measure(self, schedule: Schedule, examples: Sequence[int]) -> Measurement:
        found: dict[int, Metrics] = {}
        full_steps = 0
        references, assessor = self.references, self.references.assessor
        batches = references.batches()
        if batches is not self._batches and self.memory is not None:
            self.memory.clear()  # another policy may have halved them
        self._batches = batches
        for batch in batches:
            wanted = set(examples) & set(batch.numbers)
            if not wanted:
                continue
            reference = references.of(batch)
            references.on_run()
            latent, steps = self._run(batch.sampling, schedule)
            full_steps += steps * len(batch.numbers)
            metrics = assessor.metrics(assessor.result(latent, batch.sampling.prompts), reference)
            found |= {n: m for n, m in zip(batch.numbers, metrics, strict=True) if n in wanted}
        return Measurement([found[n] for n in examples], full_steps)

    def _run(self, sampling: Sampling, schedule: Schedule) -> tuple[Tensor, int]:
        """Sample latents, and count the steps computed in full."""
        if isinstance(self.policy, PlainSteps):
            levels = sampling.sigmas[[*schedule.full_steps, -1]]
            return sampling.plain(levels), schedule.num_full
        if self.memory is None or not samplers.keeps_nothing(sampling.sampler):
            latent, record = sampling.cached(schedule, self.policy)
            self._require_cached(schedule.cached_steps, record)
            return latent, len(record.full_steps)
        latent, record = self._resumed(sampling, schedule, self.memory)
        steps = len(record.full_steps)
        if not self._is_checked:
            checked = self._check(sampling, schedule, self.memory, latent)
            steps += checked if self.counts_check else 0
        return latent, steps

    def _resumed(
        self, sampling: Sampling, schedule: Schedule, memory: PrefixMemory[State], *before: int
    ) -> tuple[Tensor, RunRecord]:
        latent, record = sampling.resumed(schedule, self.policy, memory, *before)
        # One that begins at a state was begun by another, which was looked at.
        is_whole = min(record.full_steps + record.cached_steps, default=0) == 0
        self._require_cached(schedule.cached_steps if is_whole else (), record)
        return latent, record

    def _require_cached(self, planned: Sequence[int], record: RunRecord) -> None:
        """Refuse a run that was not under its schedule: it would score as a perfect one.

        Deviations of every run under the schedule, the user's later ones too, are accepted: a
        branch that begins on a cached step is computed then, and some samplers go back to steps
        before its anchor.
        """
        if record.caching_stopped == OUT_OF_MEMORY:
            raise comfy.model_management.OOM_EXCEPTION(record.caching_stopped)
        off_grid = set(planned).difference(record.cached_steps, record.full_steps)
        if record.caching_stopped or off_grid or (planned and not record.cached_steps):
            raise ValueError(
                "schedules cannot be scored in this workflow, because steps that they cache are "
                f"computed in full: {'; '.join(record.notes)}"
            )
        if record.refused_steps:
            self.references.note(
                "some cached steps were computed in full, and will be in your own runs: a prompt "
                "or a control begins there, or the sampler goes back to an earlier step"
            )

    def _check(
        self, sampling: Sampling, schedule: Schedule, memory: PrefixMemory[State], expected: Tensor
    ) -> int:
        """Repeat the first run from an early state; a difference ends the use of states."""
        again, record = self._resumed(sampling, schedule, memory, schedule.num_steps // 2)
        self._is_checked = True
        if not _equal(again, expected):
            self.memory = None
            self.references.note(
                "a run that continues from a saved state gives another result, because something "
                "in this workflow keeps a memory of its own. Every run therefore starts from the "
                "beginning"
            )
        return len(record.full_steps)


def _equal(one, other) -> bool:
    pairs = zip(*(x.unbind() if x.is_nested else (x,) for x in (one, other)), strict=True)
    return all(torch.allclose(a, b, rtol=0, atol=0, equal_nan=True) for a, b in pairs)
