"""The *Record Runs* node: what a method decides, example by example."""

from __future__ import annotations

from comfy_api.latest import io

from ...gph_core.paths.library import check_name
from ...gph_core.reports import runs_report
from ..hook import patching
from ..sample.examples import Example
from ..sample.guider import guider_for
from ..sample.workload import Workload
from ..schema.inputs import checked, guider_input, sampling_inputs
from ..schema.types import METHODS, RunsType
from . import recordings
from .recordings import Recording


class RecordRuns(io.ComfyNode):
    """Record the runs of examples under the cache of a MODEL."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_RecordRuns",
            display_name="Record Runs",
            category=METHODS,
            description=(
                "Samples examples and keeps what the cache of the model did in each: which steps "
                "were full, and why. Most Frequent Schedule makes a fixed schedule of it. Stop it "
                "whenever you like: queued again, it goes on where it was."
            ),
            search_aliases=["record", "log", "decisions", "trajectory", "adaptive", "statistics"],
            is_output_node=True,
            inputs=[
                *sampling_inputs(
                    "With Adaptive Cache or Golden Path Cache; without one: full runs.",
                    "From Scoring Examples; each is sampled alone.",
                ),
                io.String.Input(
                    "recording",
                    default="my runs",
                    tooltip=(
                        "Name under which the runs are kept. Queued again it goes on; other "
                        "examples are added. Another model, method, sampler, CFG, size or other "
                        "noise levels need another name."
                    ),
                ),
                guider_input(", with the cache on its model"),
                io.Boolean.Input(
                    "keep_signals",
                    default=True,
                    optional=True,
                    tooltip=(
                        "Keep what an adaptive method compares with its threshold, a number a "
                        "step. Methods that decide before the run have none."
                    ),
                    advanced=True,
                ),
                io.Boolean.Input(
                    "keep_latents",
                    default=False,
                    optional=True,
                    tooltip=(
                        "Keep the latents before each step and after the last one, a file a run: "
                        "at 1024x1024 and 50 steps 50 MB with 16 channels, much more of videos."
                    ),
                    advanced=True,
                ),
            ],
            outputs=[
                RunsType.Output(display_name="runs", tooltip="Of these examples."),
                io.String.Output(display_name="summary"),
            ],
        )

    @classmethod
    def validate_inputs(cls, recording: str | None) -> bool | str:
        return checked((check_name, recording))

    @classmethod
    def fingerprint_inputs(cls, recording: str | None = None, **inputs) -> dict[str, int]:
        # Another node may have added runs to the recording, or the user deleted it.
        return recordings.FILES.changed_at(recording)

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float,
        recording: str, guider=None, keep_signals: bool = True, keep_latents: bool = False,
    ) -> io.NodeOutput:  # fmt: skip
        plan = patching.plan_of(guider.model_patcher if guider else model)
        work = Workload(
            guider_for(model, guider, cfg, examples[0]), examples, latent, sampler, sigmas
        )
        runs, num_new = Recording(work, plan, recording, keep_signals, keep_latents).complete()
        text = "\n".join([runs_report.summary(runs, num_new), *work.notes])
        return io.NodeOutput(runs, text)
