"""The *Record Trajectory* node: latents of full runs, state by state."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ...gph_core.paths.library import check_name
from ...gph_core.texts import counted
from ..hook import samplers
from ..sample.examples import Example
from ..sample.workload import Workload, guider_for
from ..schema.inputs import check_known, guider_input, sampling_inputs
from ..schema.node import Node
from ..schema.summary import fingerprint, summary_output
from ..schema.types import ANALYSIS, TrajectoriesType
from ..workers.jobs import here
from . import recordings
from .recordings import RecordedRuns, Trajectories


class RecordTrajectory(Node):
    """Record the states of full runs of examples."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_RecordTrajectory",
            display_name="Record Trajectory",
            category=ANALYSIS,
            description=(
                "Samples examples with every step full and saves the latents before each step "
                "and after the last one. Trajectory Profile shows what the runs have in common. "
                "You can cancel at any time; queue again to continue."
            ),
            search_aliases=["record", "trajectory", "latents", "states", "path", "analysis"],
            is_output_node=True,
            inputs=[
                *sampling_inputs(
                    "With its LoRAs. A cache node before it has no effect here.",
                    "From Scoring Examples. Use several prompts with several seeds each.",
                    "As in your workflow. UniPC and samplers that choose their own noise levels "
                    "do not report their states and are refused.",
                ),
                io.String.Input(
                    "recording",
                    default="my trajectories",
                    tooltip=(
                        "The states are saved under this name: 50 MB per run of 50 steps at "
                        "1024x1024 and 16 channels, much more for videos. Queue again to "
                        "continue or to add examples. Another model, sampler, CFG, size or other "
                        "noise levels need another name."
                    ),
                ),
                guider_input(),
            ],
            outputs=[
                TrajectoriesType.Output(
                    display_name="trajectories", tooltip="The runs of these examples."
                ),
                io.String.Output(display_name="summary"),
            ],
        )

    @classmethod
    def check_inputs(cls, recording: str | None = None) -> None:
        check_known((check_name, recording))

    @classmethod
    def fingerprint_inputs(cls, recording: str | None = None, **inputs) -> Any:
        # Another node may have added runs to the recording, or the user deleted it.
        return fingerprint(recordings.FILES.changed_at(recording))

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float,
        recording: str, guider=None,
    ) -> io.NodeOutput:  # fmt: skip
        work = Workload(
            guider_for(model, guider, cfg, examples[0]), examples, latent, sampler, sigmas
        )
        # Full runs as Record Runs keeps them, so that each node continues the other's recording.
        sampled = RecordedRuns(work, None, recording, keeps_signals=True, keeps_latents=True)
        runs, num_new = sampled.recording.complete(here(sampled))
        text = "\n".join([
            f"{counted(len(runs), 'run')}, {num_new} of them new: {work.num_steps + 1} states each",
            *work.notes,
            *_noise_note(sampler),
        ])  # fmt: skip
        return io.NodeOutput(Trajectories(recording, runs), text, ui=summary_output(text))


def _noise_note(sampler) -> list[str]:
    if not samplers.is_stochastic(sampler):
        return []
    return [
        f"{samplers.name(sampler)} adds noise between steps, so displacements and turning angles "
        "are mostly those of the noise; choose a sampler without noise to see the model's own "
        "path"
    ]
