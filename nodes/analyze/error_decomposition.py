"""The *Error Decomposition* node: error added by a cached step, and error of earlier ones."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ...gph_core.experiments.decomposing import MOST_EVALUATIONS, NAME, DecomposedRuns
from ...gph_core.methods.candidates import schedules_of
from ...gph_core.paths.library import check_name
from ...gph_core.policies.base import Policy
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.reports import decomposition_report, figures
from ...gph_core.run_plan import RunPlan, fixed
from ...gph_core.schedule import Schedule
from ..hook import patching
from ..library.user_files import UserFiles
from ..sample import euler
from ..sample.examples import Example
from ..sample.progress import Progress
from ..sample.workload import Workload, guider_for
from ..schema.inputs import check_known, guider_input, sampling_inputs
from ..schema.node import Node
from ..schema.summary import fingerprint, json_text, summary_output
from ..schema.types import ANALYSIS, PolicyType, ScheduleType
from .decomposing import decomposed, identity

FILES = UserFiles("decompositions", ".jsonl")


class ErrorDecomposition(Node):
    """Split the errors of schedules on examples into two contributions."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_ErrorDecomposition",
            display_name=NAME,
            category=ANALYSIS,
            description=(
                "Shows where the error of a cached run comes from: at each step, from the "
                "current prediction or from the effect of earlier cached steps. Tells which of "
                "the two predicts the final error. You can cancel at any time; queue again to "
                "continue."
            ),
            search_aliases=[
                "velocity error", "state contribution", "drift", "error analysis", "analysis",
            ],
            is_output_node=True,
            inputs=[
                *sampling_inputs(
                    "With its LoRAs. If you write no schedule, its Adaptive Cache or Golden Path "
                    "Cache is analysed.",
                    "From Scoring Examples. Each example takes up to three full runs per schedule.",
                    "euler (or ddim, which is the same). The formulas hold for no other sampler.",
                ),
                io.MultiType.Input(
                    io.String.Input("schedule", default="", multiline=True),
                    types=[ScheduleType],
                    tooltip=(
                        "One or more schedules, one per line: the full steps, then / and the "
                        "number of steps. You can put a name and a colon in front. Empty: the "
                        "schedule of the model's cache."
                    ),
                ),
                io.String.Input(
                    "name",
                    default="my decomposition",
                    tooltip=(
                        "Runs are saved under this name. Queue again to continue or to add "
                        "examples and schedules. Another model, CFG, size or other noise levels "
                        "need another name."
                    ),
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip=(
                        "How cached steps are predicted under the schedules above. Unconnected: "
                        "residual reuse."
                    ),
                ),
                guider_input(),
            ],
            outputs=[
                io.Image.Output(display_name="figure"),
                io.String.Output(display_name="JSON", tooltip="All numbers, also for each run."),
            ],
        )  # fmt: skip

    @classmethod
    def check_inputs(cls, name: str | None = None, schedule: str | None = None) -> None:
        check_known((check_name, name), (_written, schedule))

    @classmethod
    def fingerprint_inputs(cls, name: str | None = None, **inputs) -> Any:
        # Another node may have added runs to the file, or the user deleted it.
        return fingerprint(FILES.changed_at(name))

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float,
        schedule: str, name: str, policy: Policy | None = None, guider=None,
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        plans = plans_of(guider.model_patcher if guider else model, schedule, policy or Reuse())
        guider = guider_for(model, guider, cfg, examples[0])
        work = Workload(guider, examples, latent, sampler, sigmas)
        euler.refuse_others(NAME, sampler)
        runs = DecomposedRuns(work, plans, FILES.path_of(name), identity)
        missing = len(plans) * len(work) - len(runs.known())
        count = MOST_EVALUATIONS * work.num_steps
        progress = Progress(guider.model_patcher, count * missing)
        decompositions = runs.complete(
            lambda number, plan: decomposed(work, number, plan, progress.callback(count))
        )
        report = decomposition_report.report_of(
            decompositions,
            runs.choices,
            [{"prompt": example.prompt, "seed": example.seed} for example in work.examples],
        )
        text = decomposition_report.text_of(report, work.notes)
        return io.NodeOutput(
            decomposition_report.figure(report),
            json_text(report),
            ui=summary_output(text),
        )


def plans_of(model, schedules: str, policy: Policy) -> dict[str, RunPlan]:
    """Plans to analyse, by name: the schedules of a text, else the cache of a MODEL."""
    written = _written(schedules)
    if written:
        return {name: fixed(schedule, policy) for name, schedule in written.items()}
    plan = patching.plan_of(model)
    if plan is None:
        raise ValueError(
            "there is nothing to analyse: write schedules, one per line, or connect a model with "
            "Adaptive Cache or Golden Path Cache"
        )
    return {"the model's cache": plan}


def _written(schedules: str) -> dict[str, Schedule]:
    """Schedules of a text, by name; any name will do, as there are no other rows."""
    return schedules_of(schedules, ())
