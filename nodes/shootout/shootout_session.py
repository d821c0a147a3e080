"""Runs of *Method Shootout*: each example in full, then with each candidate."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import comfy.model_management
from comfy.samplers import KSAMPLER

from ...gph_core.methods.candidates import FULL
from ...gph_core.quality.shootout import CandidateRun, Results
from ...gph_core.reports.shootout.report import Standing
from ...gph_core.run.record import RunRecord
from ..hook.branch_calls import OUT_OF_MEMORY
from ..library.user_files import UserFiles
from ..sample import guider
from ..sample.assessing import Assessor
from ..sample.progress import Progress
from ..sample.sampler_variants import ending_after
from ..sample.sampling import CPU, Sampling
from ..sample.workload import Workload
from .candidates import Candidate

FILES = UserFiles("shootouts", ".jsonl")


@dataclass(frozen=True)
class Shootout:
    """Study of all examples with all candidates, the full run first.

    Runs known from former sessions are not repeated, except the full run of an unfinished example,
    with which the rest of its runs are compared.

    Args:
        on_run: told each run before it begins: number of the example, name of the candidate.
        on_example: called after each example that something was run for.
    """

    workload: Workload
    candidates: Sequence[Candidate]
    assessor: Assessor
    results: Results
    on_run: Callable[[int, str], None] = lambda *_: None
    on_example: Callable[[Shootout], None] = lambda _: None

    @functools.cached_property
    def examples(self) -> dict[str, int]:
        """Names of the examples with their numbers; equal ones count once."""
        return {name: number for number, name in enumerate(self.workload.names())}

    def found(self) -> dict[str, list[CandidateRun]]:
        """Results by candidate, of the examples that all of them have run, in their order."""
        plans = {c.name: c.plan for c in self.candidates}
        found: dict[str, list[CandidateRun]] = {name: [] for name in plans}
        for example in self.examples:
            known = {
                name: result
                for name, plan in plans.items()
                if (result := self.results.get(example, name, plan)) is not None
            }
            if known.keys() == plans.keys():
                for name, result in known.items():
                    found[name].append(result)
        return found

    def standing(self) -> Standing:
        """Results so far, for a report."""
        found = self.found()
        examples = {
            result.example: self.workload.examples[self.examples[result.example]]
            for result in found[FULL]
        }
        prompts = [
            {"example": name, "prompt": example.prompt, "seed": example.seed}
            for name, example in examples.items()
        ]
        steps, conditions = self.workload.num_steps, self.results.conditions
        return Standing(self.candidates, found, prompts, steps, conditions)

    def run(self) -> None:
        """Make all runs that are missing."""
        missing = {name: self._missing(name) for name in self.examples}
        self._warm_up([candidate for some in missing.values() for candidate in some])
        full = self.candidates[0].schedule.num_steps
        count = sum(
            full + sum(c.schedule.num_steps for c in some if c.name != FULL)
            for some in missing.values()
            if some
        )
        progress = Progress(self.workload.guider.model_patcher, count)
        for name, candidates in missing.items():
            if candidates:
                self._example(name, candidates, progress)
                self.on_example(self)

    def _missing(self, example: str) -> list[Candidate]:
        """Runs without a result, or without a metric that can be measured now."""
        measured = {"latent_mse", *self.assessor.image_metrics}
        found = {c: self.results.get(example, c.name, c.plan) for c in self.candidates}
        return [
            candidate
            for candidate, result in found.items()
            if result is None or (candidate.name != FULL and not measured <= result.metrics.keys())
        ]

    def _warm_up(self, candidates: Sequence[Candidate]) -> None:
        """Begin a run of each kind up to its first cached step, before anything is timed.

        A model may be compiled, once for full steps and once for cached ones.
        """
        sampling = self.workload.sampling(0)
        kinds = {
            (repr(c.choice.policy), type(c.choice.gate)): c
            for c in candidates
            if c.choice is not None and c.schedule.num_cached
        }
        for candidate in kinds.values():
            comfy.model_management.throw_exception_if_processing_interrupted()
            sampler = ending_after(sampling.sampler, candidate.schedule.cached_steps[0] + 1)
            latent, _ = candidate.sample(replace(sampling, sampler=sampler), lambda *_: None)
            latent.to(CPU)  # waits for the device

    def _example(self, name: str, candidates: Sequence[Candidate], progress: Progress) -> None:
        number = self.examples[name]
        sampling = self.workload.sampling(number)
        reference, full_seconds = None, 0.0
        # The full run comes first in any case.
        for candidate in dict.fromkeys((self.candidates[0], *candidates)):
            self.on_run(number, candidate.name)
            latent, seconds, record = _timed(candidate, sampling, progress)
            metrics = {}
            if reference is None:
                reference, full_seconds = self.assessor.reference(latent), seconds
            else:
                (metrics,) = self.assessor.metrics(self.assessor.result(latent), reference)
            if candidate in candidates:
                run = (candidate.name, candidate.plan, metrics, seconds, full_seconds, record)
                # Another time there may be enough memory.
                is_short = record is not None and record.caching_stopped == OUT_OF_MEMORY
                self.results.add(CandidateRun(name, *run), is_kept=not is_short)


def _timed(
    candidate: Candidate, sampling: Sampling, progress: Progress
) -> tuple[Any, float, RunRecord | None]:
    """Latent in main memory, the seconds from the first step on, and the record."""
    comfy.model_management.throw_exception_if_processing_interrupted()
    clock = Clock()
    sampling = replace(sampling, sampler=clock.started_by(sampling.sampler))
    callback = progress.callback(candidate.schedule.num_steps)
    latent, record = candidate.sample(sampling, callback)
    latent = latent.to(CPU)  # waits for the device
    return latent, clock.seconds, record


class Clock:
    """Clock that starts with the sampler, once the model is loaded.

    Decoding the run before may have pushed the model out of the device's memory.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def started_by(self, sampler):
        """Sampler that starts the clock."""
        if not isinstance(sampler, KSAMPLER):
            return sampler  # another extension's, of a kind of its own: loading counts

        @functools.wraps(sampler.sampler_function)
        def function(*args, **kwargs):
            self._began = time.perf_counter()
            return sampler.sampler_function(*args, **kwargs)

        return KSAMPLER(function, sampler.extra_options, sampler.inpaint_options)


def conditions_of(workload: Workload, assessed_by: dict[str, Any]) -> dict[str, Any]:
    """Conditions that the results of a file share, besides examples and candidates.

    Args:
        assessed_by: facts that the metrics depend on.
    """
    device = workload.guider.model_patcher.load_device
    return {
        **guider.conditions_of(
            workload.guider, workload.examples, workload.latent, workload.sampler, workload.sigmas
        ),
        "device": comfy.model_management.get_torch_device_name(device),
        **assessed_by,
    }
