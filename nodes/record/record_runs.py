"""The *Record Runs* node: what a method decides, example by example."""

from __future__ import annotations

from comfy_api.latest import io

from ...gph_core.paths.library import check_name
from ...gph_core.reports import runs_report
from ..hook import patching
from ..sample.examples import Example
from ..sample.workload import Workload, guider_for
from ..schema.inputs import check_known, guider_input, sampling_inputs, workers_input
from ..schema.node import Node
from ..schema.types import METHODS, RunsType
from ..workers import capture, jobs
from ..workers.ray_actors import Workers
from . import recordings
from .recordings import RecordedRuns


class RecordRuns(Node):
    """Record the runs of examples under the cache of a MODEL."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_RecordRuns",
            display_name="Record Runs",
            category=METHODS,
            description=(
                "Samples examples and saves what the model's cache did in each run: which steps "
                "were full, and why. Most Frequent Schedule turns the runs into a fixed "
                "schedule. You can cancel at any time; queue again to continue."
            ),
            search_aliases=["record", "log", "decisions", "trajectory", "adaptive", "statistics"],
            is_output_node=True,
            inputs=[
                *sampling_inputs(
                    "With Adaptive Cache or Golden Path Cache. Without a cache, full runs are "
                    "recorded.",
                    "From Scoring Examples. Each example is sampled alone.",
                ),
                io.String.Input(
                    "recording",
                    default="my runs",
                    tooltip=(
                        "The runs are saved under this name. Queue again to continue or to add "
                        "examples. Another model, method, sampler, CFG, size or other noise "
                        "levels need another name."
                    ),
                ),
                guider_input(", with the cache on its model"),
                io.Boolean.Input(
                    "keep_signals",
                    default=True,
                    optional=True,
                    tooltip=(
                        "Save the values that an adaptive method compares with its threshold, "
                        "one per step. Methods that decide before the run have none."
                    ),
                    advanced=True,
                ),
                io.Boolean.Input(
                    "keep_latents",
                    default=False,
                    optional=True,
                    tooltip=(
                        "Save the latents before each step and after the last one, one file per "
                        "run: 50 MB at 1024x1024, 50 steps and 16 channels, much more for videos."
                    ),
                    advanced=True,
                ),
                workers_input(),
            ],
            outputs=[
                RunsType.Output(display_name="runs", tooltip="The runs of these examples."),
                io.String.Output(display_name="summary"),
            ],
            hidden=[io.Hidden.unique_id, io.Hidden.prompt],
        )

    @classmethod
    def check_inputs(cls, recording: str | None = None) -> None:
        check_known((check_name, recording))

    @classmethod
    def fingerprint_inputs(cls, recording: str | None = None, **inputs) -> dict[str, int]:
        # Another node may have added runs to the recording, or the user deleted it.
        return recordings.FILES.changed_at(recording)

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float,
        recording: str, guider=None, keep_signals: bool = True, keep_latents: bool = False,
        workers: Workers | None = None,
    ) -> io.NodeOutput:  # fmt: skip
        plan = patching.plan_of(guider.model_patcher if guider else model)
        work = Workload(
            guider_for(model, guider, cfg, examples[0]), examples, latent, sampler, sigmas
        )
        sampled = RecordedRuns(work, plan, recording, keep_signals, keep_latents)
        if capture.take(sampled):  # in a worker
            return io.NodeOutput()
        with jobs.shared(workers, sampled, cls.hidden) as shared:
            runs, num_new = sampled.recording.complete(shared.jobs)
        text = "\n".join([runs_report.summary(runs, num_new), *work.notes, *shared.notes])
        return io.NodeOutput(runs, text)
