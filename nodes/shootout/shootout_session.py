"""Runs of *Method Shootout*: each example in full, then with each candidate."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import comfy.model_management
import torch

from ...gph_core.methods.candidates import FULL
from ...gph_core.quality import metrics
from ...gph_core.quality.metric_table import COMPARED, OF_IMAGES
from ...gph_core.quality.shootout import CandidateRun, Results
from ...gph_core.reports.shootout.report import Standing
from ..library.user_files import UserFiles
from ..sample.assessing import Assessor, ImageMetric, image_metric
from ..sample.workload import Workload
from ..semantic.judges import SemanticMetrics
from ..workers.jobs import Mapped
from .candidate_runs import CandidateRuns, Found, Job
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
        mapped: of workers that make the runs; none: they are made here.
    """

    workload: Workload
    candidates: Sequence[Candidate]
    assessor: Assessor
    results: Results
    on_run: Callable[[int, str], None] = lambda *_: None
    on_example: Callable[[Shootout], None] = lambda _: None
    mapped: Mapped | None = None

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
        missing = {name: some for name in self.examples if (some := self._missing(name))}
        jobs = [(self.examples[name], [c.name for c in some]) for name, some in missing.items()]
        here = CandidateRuns(self.workload, self.candidates, self.assessor, self.on_run)
        for found in self._by_workers(jobs) if self.mapped else here.mapped(jobs):
            for run, is_kept in found:
                self.results.add(run, is_kept)
            self.on_example(self)

    def _by_workers(self, jobs: Iterable[Job]) -> Iterator[Iterable[Found]]:
        assert self.mapped is not None
        for found in self.mapped(jobs):
            yield [(CandidateRun.from_json(text), is_kept) for text, is_kept in found]

    def _missing(self, example: str) -> list[Candidate]:
        """Runs without a result, or without a metric that can be measured now."""
        measured = {"latent_mse", *self.assessor.image_metrics}
        found = {c: self.results.get(example, c.name, c.plan) for c in self.candidates}
        return [
            candidate
            for candidate, result in found.items()
            if result is None or (candidate.name != FULL and not measured <= result.metrics.keys())
        ]


def conditions_of(workload: Workload, assessed_by: dict[str, Any]) -> dict[str, Any]:
    """Conditions that the results of a file share, besides examples and candidates.

    Args:
        assessed_by: facts that the metrics depend on.
    """
    device = workload.guider.model_patcher.load_device
    return {
        **workload.run_conditions,
        "device": comfy.model_management.get_torch_device_name(device),
        **assessed_by,
    }


def assessor_of(
    vae, lpips: str, video: bool = False, semantic: SemanticMetrics | None = None
) -> tuple[Assessor, dict[str, str], str | None]:
    """Assessor of all metrics that can be measured, reasons against others, and LPIPS's network.

    Images have no metrics of consecutive frames, which is no reason to tell.
    """
    rows = [
        row for key, row in COMPARED.items() if key in OF_IMAGES and (video or not row.of_frames)
    ]
    if vae is None:
        needs = "it compares images: connect vae"
        return Assessor(None, {}), {row.key: needs for row in rows}, None
    found: dict[str, ImageMetric] = {}
    unavailable, network = {}, None
    blank = torch.zeros(2, 3, metrics.SSIM_WINDOW, metrics.SSIM_WINDOW)
    for row in rows:
        try:
            metric, backbone = image_metric(row, lpips)
            if backbone is None:
                metric(blank, blank)  # its package may be missing
        except (ImportError, OSError, ValueError) as error:
            unavailable[row.key] = str(error)
            continue
        found[row.key], network = metric, network or backbone
    return Assessor(vae, found, semantic), unavailable, network
