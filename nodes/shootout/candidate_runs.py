"""Runs of one example: in full, then with each candidate, each timed."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import comfy.model_management
from comfy.samplers import KSAMPLER

from ...gph_core.experiments.candidates import Candidate
from ...gph_core.experiments.jobs import Answer
from ...gph_core.methods.candidates import FULL
from ...gph_core.paths.conditions import Choice
from ...gph_core.policies.base import options_of
from ...gph_core.quality.shootout import CandidateRun
from ...gph_core.run.levels import along
from ...gph_core.run.record import RunRecord
from ...gph_core.run_plan import settled
from ..hook import fingerprint
from ..hook.branch_calls import OUT_OF_MEMORY
from ..sample.assessing import Assessor
from ..sample.progress import Progress
from ..sample.sampler_variants import ending_after
from ..sample.sampling import CPU, Sampling
from ..sample.workload import Workload


@dataclass(frozen=True)
class CandidateRuns:
    """Runs of examples with candidates, of which the first is the full run.

    Args:
        on_run: called before each run with the example's number and the candidate's name.
    """

    workload: Workload
    candidates: Sequence[Candidate]
    assessor: Assessor
    conditions: Mapping[str, Any]  # the same on every worker
    on_run: Callable[[int, str], None] = lambda *_: None
    _warm: set[tuple[str, type]] = field(default_factory=set)

    def job(
        self, number: int, names: Sequence[str], progress: Progress | None = None
    ) -> Iterator[Answer]:
        """Runs of one example in JSON, one by one, each with a flag: whether to keep it."""
        self._warm_up(names)
        progress = progress or Progress(self.workload.guider.model_patcher, 1)
        example, sampling = self.workload.names()[number], self.workload.sampling(number)
        reference, full_seconds = None, 0.0
        # The full run always comes first.
        for candidate in self._named({FULL, *names}):
            self.on_run(number, candidate.name)
            latent, seconds, record = self._timed(candidate, sampling, progress)
            metrics = {}
            if reference is None:
                reference = self.assessor.reference(latent, sampling.prompts)
                full_seconds = seconds
            else:
                result = self.assessor.result(latent, sampling.prompts)
                (metrics,) = self.assessor.metrics(result, reference)
            if candidate.name in names:
                parts = (candidate.name, candidate.plan, metrics, seconds, full_seconds, record)
                # Next time there may be enough memory.
                is_short = record is not None and record.caching_stopped == OUT_OF_MEMORY
                steps = len(record.full_steps) if record else candidate.schedule.num_steps
                run = CandidateRun(example, *parts).to_json()
                yield Answer((run, not is_short), steps)

    def _named(self, names: Collection[str]) -> list[Candidate]:
        return [candidate for candidate in self.candidates if candidate.name in names]

    def _warm_up(self, names: Collection[str]) -> None:
        """Begin a run of each kind up to its first cached step, before anything is timed.

        A model may be compiled, once for full steps and once for cached ones.
        """
        sampling = self.workload.sampling(0)
        for candidate in self._named(names):
            if candidate.choice is None or not candidate.schedule.num_cached:
                continue
            kind = repr(candidate.choice.policy), type(candidate.choice.gate)
            if kind in self._warm:
                continue
            self._warm.add(kind)
            comfy.model_management.throw_exception_if_processing_interrupted()
            sampler = ending_after(sampling.sampler, candidate.schedule.cached_steps[0] + 1)
            latent, _ = self._sampled(candidate, replace(sampling, sampler=sampler))
            latent.to(CPU)  # waits for the device

    def _timed(
        self, candidate: Candidate, sampling: Sampling, progress: Progress
    ) -> tuple[Any, float, RunRecord | None]:
        """Latent in main memory, the seconds from the first step on, and the record."""
        comfy.model_management.throw_exception_if_processing_interrupted()
        clock = Clock()
        sampling = replace(sampling, sampler=clock.started_by(sampling.sampler))
        callback = progress.callback(candidate.schedule.num_steps)
        latent, record = self._sampled(candidate, sampling, callback)
        latent = latent.to(CPU)  # waits for the device
        return latent, clock.seconds, record

    def _sampled(
        self, candidate: Candidate, sampling: Sampling, callback: Callable | None = None
    ) -> tuple[Any, RunRecord | None]:
        if candidate.choice is not None:
            return sampling.under(settled(candidate.choice), callback)
        if candidate.name == FULL:
            return sampling.full(callback), None
        levels = along(self.workload.sigmas)(candidate.schedule.num_steps)
        return sampling.plain(levels, callback), None


def identity(choice: Choice) -> str:
    """Identity of a candidate's choice, the same in every session."""
    policy = choice.policy
    options = list(options_of(policy).values())
    return fingerprint.of_values(str(choice.schedule), repr(policy), options, repr(choice.gate))


class Clock:
    """Clock that starts with the sampler, once the model is loaded.

    Decoding the previous run may have pushed the model out of the device's memory.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def started_by(self, sampler):
        """Sampler that starts the clock."""
        if not isinstance(sampler, KSAMPLER):
            return sampler  # another extension's own kind: the time includes loading

        @functools.wraps(sampler.sampler_function)
        def function(*args, **kwargs):
            self._began = time.perf_counter()
            return sampler.sampler_function(*args, **kwargs)

        return KSAMPLER(function, sampler.extra_options, sampler.inpaint_options)
