"""Examples in batches, and the results of their full runs, shared by all policies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from .assessing import Assessor, Output
from .sampling import Sampling
from .workload import Workload

_LOG = logging.getLogger(__name__)

# Largest relative difference between an item in a batch and alone; bfloat16 rounds by less.
CROSS_TALK = 0.02


@dataclass
class Batch:
    """Examples that are sampled at once."""

    numbers: tuple[int, ...]
    sampling: Sampling
    reference: Output | None = None  # of the full run, once it is computed


@dataclass
class References:
    """Batches of examples with their full runs, which are computed when needed.

    Args:
        assessor: turns latents into results.
        batch: number of examples to sample at once, where possible.
        on_run: called before each run.
        on_reference: called after each full run with two counts: examples done, all examples.
        notes: what the user should know, in sentences, each once.
    """

    workload: Workload
    assessor: Assessor
    batch: int = 1
    on_run: Callable[[], None] = lambda: None
    on_reference: Callable[[int, int], None] = lambda *_: None
    notes: list[str] = field(default_factory=list)
    _batches: list[Batch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.batch = min(self.batch, self.count)

    @property
    def count(self) -> int:
        """Number of examples."""
        return len(self.workload)

    def batches(self) -> list[Batch]:
        """Batches of all examples; the first call tests whether they can be sampled at once."""
        if not self._batches:
            self._batches = self._arranged()
        return self._batches

    def ensure(self) -> None:
        """Compute all missing full runs."""
        for batch in self.batches():
            self.of(batch)

    def of(self, batch: Batch, watched: Sampling | None = None) -> Output:
        """Result of a batch's full run; ``watched`` is its sampling with an observer, if any."""
        if batch.reference is None:
            self.on_run()
            latent = (watched or batch.sampling).full()
            batch.reference = self.assessor.reference(latent, batch.sampling.prompts)
            done = sum(len(b.numbers) for b in self._batches if b.reference is not None)
            self.on_reference(done, self.count)
        return batch.reference

    def halve(self, error: Exception) -> None:
        """Start over with smaller batches, after the device ran out of memory."""
        largest = max((len(batch.numbers) for batch in self._batches), default=self.batch)
        if largest == 1:
            raise RuntimeError(
                "one example does not fit into the memory of the device; use a smaller size or "
                "fewer frames, or start ComfyUI with --lowvram"
            ) from error
        self._batches = []
        self.batch = largest // 2
        self.note(f"out of memory: from now on examples are sampled {self.batch} at a time")

    def empty(self) -> None:
        """Free all results; they are computed again when needed."""
        self._batches = []

    def note(self, text: str) -> None:
        """Tell the user something, once."""
        if text not in self.notes:
            self.notes.append(text)
            _LOG.warning("Golden Path: %s", text)

    def _arranged(self) -> list[Batch]:
        batches: list[Batch] = []
        is_checked = False
        for first in range(0, self.count, self.batch):
            numbers = tuple(range(first, min(first + self.batch, self.count)))
            whole = self.workload.batch(numbers)
            if whole is None:
                self.note(
                    "not all examples can be sampled at once, because their prompts differ in "
                    "length or in other conditioning, or the latent has a mask or sound; those "
                    "are sampled one by one"
                )
                batches += [Batch((n,), self.workload.sampling(n)) for n in numbers]
                continue
            if len(numbers) > 1 and not is_checked:
                if self._has_cross_talk(whole, numbers):
                    self.batch = 1
                    return self._arranged()
                is_checked = True
            batches.append(Batch(numbers, whole))
        return batches

    def _has_cross_talk(self, whole: Sampling, numbers: Sequence[int]) -> bool:
        """Whether an item in a batch differs from the item alone, after one step to the end."""
        one_step = torch.stack([whole.sigmas[0], torch.zeros_like(whole.sigmas[0])])
        self.on_run()
        together, alone = (
            whole.plain(one_step)[:1],
            self.workload.sampling(numbers[0]).plain(one_step),
        )
        if (together - alone).norm() <= CROSS_TALK * alone.norm():
            return False
        self.note(
            "examples that are sampled at once influence each other in this workflow; they are "
            "sampled one by one"
        )
        return True
