"""The *Error Decomposition* node: error added by a cached step, and error of earlier ones."""

from __future__ import annotations

import json
from typing import Any

from comfy_api.latest import io

from ...gph_core.methods.candidates import schedules_of
from ...gph_core.paths.library import check_name
from ...gph_core.policies.base import Policy
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.reports import decomposition_report, figures
from ...gph_core.schedule import Schedule
from ..cache.plan import CachePlan
from ..hook import patching, starting
from ..sample.examples import Example
from ..sample.guider import guider_for
from ..sample.progress import Progress
from ..sample.workload import Workload
from ..schema.inputs import checked, guider_input, sampling_inputs
from ..schema.summary import fingerprint, summary_output
from ..schema.types import ANALYSIS, PolicyType, ScheduleType
from .decomposing import FILES, NAME, Analysis


class ErrorDecomposition(io.ComfyNode):
    """Split the errors of schedules on examples into two contributions."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_ErrorDecomposition",
            display_name=NAME,
            category=ANALYSIS,
            description=(
                "Splits the error of cached runs, step by step, into what the present "
                "approximation adds and what earlier cached steps left in the state, and shows "
                "which of both foretells the final error. Stop it whenever you like: queued "
                "again, it goes on where it was."
            ),
            search_aliases=[
                "velocity error", "state contribution", "drift", "error analysis", "analysis",
            ],
            is_output_node=True,
            inputs=[
                *sampling_inputs(
                    "With its LoRAs. Its Adaptive Cache or Golden Path Cache is what is analysed "
                    "if no schedule is written.",
                    "From Scoring Examples. Each takes up to three full runs for each schedule.",
                    "euler, which is what the formulas hold for.",
                ),
                io.MultiType.Input(
                    io.String.Input("schedule", default="", multiline=True),
                    types=[ScheduleType],
                    tooltip=(
                        "One or several, one a line: the full steps, then / and the number of "
                        "steps, before that a name and a colon if you like. Empty: what the cache "
                        "of the model does."
                    ),
                ),
                io.String.Input(
                    "name",
                    default="my decomposition",
                    tooltip=(
                        "Runs are kept under this name. Queued again it goes on; other examples "
                        "and schedules are added. Another model, CFG, size or other noise levels "
                        "need another name."
                    ),
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip=(
                        "How cached steps are predicted under the schedules that are written. "
                        "Unconnected: residual reuse."
                    ),
                ),
                guider_input(),
            ],
            outputs=[
                io.Image.Output(display_name="figure"),
                io.String.Output(display_name="JSON", tooltip="All numbers, of each run too."),
            ],
        )  # fmt: skip

    @classmethod
    def validate_inputs(cls, name: str | None, schedule: str | None = None) -> bool | str:
        return checked((check_name, name), (_written, schedule))

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
        analysis = Analysis(work, plans, name)
        known = analysis.begin()
        names = {example: number for number, example in enumerate(work.names())}
        missing = [(p, e) for p in plans for e in names if (p, e) not in known]
        count = analysis.num_evaluations
        progress = Progress(guider.model_patcher, count * len(missing))
        for plan, example in missing:
            known[plan, example] = analysis.add(plan, names[example], progress.callback(count))
        found = {plan: [known[plan, example] for example in names] for plan in plans}
        report = decomposition_report.report_of(
            found,
            analysis.choices,
            [{"prompt": example.prompt, "seed": example.seed} for example in work.examples],
        )
        text = decomposition_report.text_of(report, work.notes)
        return io.NodeOutput(
            decomposition_report.figure(report),
            json.dumps(report, indent=2),
            ui=summary_output(text),
        )


def plans_of(model, schedules: str, policy: Policy) -> dict[str, starting.RunPlan]:
    """Plans to analyse, by name: the schedules of a text, else the cache of a MODEL."""
    written = _written(schedules)
    if written:
        return {name: CachePlan("Custom", one, policy) for name, one in written.items()}
    plan = patching.plan_of(model)
    if plan is None:
        raise ValueError(
            "there is nothing to analyse: write schedules, one a line, or connect a model with "
            "Adaptive Cache or Golden Path Cache"
        )
    return {"the model's cache": plan}


def _written(schedules: str) -> dict[str, Schedule]:
    """Plans of the schedules of a text; any name will do, as there are no other rows."""
    return schedules_of(schedules, ())
