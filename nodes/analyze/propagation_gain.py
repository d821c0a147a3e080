"""The *Propagation Gain* node: where a run is sensitive to a cached step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from comfy_api.latest import io

from ...gph_core.analysis.step_sensitivity import StepSensitivity
from ...gph_core.calibration.fitted import check_policy
from ...gph_core.experiments.isolating import NAME, Isolation
from ...gph_core.paths.library import check_name
from ...gph_core.policies.base import Policy
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.reports import figures, propagation_report
from ..hook.fingerprint import of_policy
from ..library.user_files import UserFiles
from ..sample import euler
from ..sample.examples import Example
from ..sample.progress import Progress
from ..sample.workload import Workload, guider_for
from ..schema.inputs import check_known, guider_input, sampling_inputs
from ..schema.node import Node
from ..schema.summary import fingerprint, json_text, summary_output
from ..schema.types import ANALYSIS, PolicyType, SensitivityType
from .isolating import isolate, new_run

FILES = UserFiles("propagation", ".jsonl")


class PropagationGain(Node):
    """Measure a sensitivity curve on examples."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_PropagationGain",
            display_name=NAME,
            category=ANALYSIS,
            description=(
                "Shows at which steps your model is sensitive to caching. Caches one step at a "
                "time in an otherwise full run and measures the error of the feature and how "
                "much of it reaches the image. Also provides costs for Plan Schedule. You can "
                "cancel at any time; queue again to continue."
            ),
            search_aliases=[
                "sensitivity", "isolated step", "error analysis", "feature error", "future gain",
                "analysis",
            ],
            is_output_node=True,
            inputs=[
                *sampling_inputs(
                    "With its LoRAs. A cache node before it has no effect here.",
                    "From Scoring Examples, two or more. With N steps, each takes as long as "
                    "about N/2 full runs.",
                    "euler (or ddim, which is the same). The formulas hold for no other sampler.",
                ),
                io.String.Input(
                    "name",
                    default="my gains",
                    tooltip=(
                        "Measured steps are saved under this name. Queue again to continue or to "
                        "add examples. Another model, policy, CFG, size or other noise levels "
                        "need another name."
                    ),
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip=(
                        "How the cached step is predicted. Unconnected: residual reuse. Policies "
                        "that predict inside the model (two-anchor) are refused."
                    ),
                ),
                guider_input(),
                io.Int.Input(
                    "longest_jump",
                    default=20,
                    min=2,
                    max=1000,
                    optional=True,
                    tooltip=(
                        "Largest distance between full steps for the costs of Plan Schedule. "
                        "Larger: fewer full steps can be planned, but features of more steps are "
                        "held in memory."
                    ),
                    advanced=True,
                ),
            ],
            outputs=[
                SensitivityType.Output(
                    display_name="sensitivity",
                    tooltip="The measured gains, for Plan Schedule and Schedule Editor.",
                ),
                io.Image.Output(display_name="figure"),
                io.String.Output(display_name="JSON", tooltip="All numbers, also per example."),
            ],
        )  # fmt: skip

    @classmethod
    def check_inputs(cls, name: str | None = None) -> None:
        check_known((check_name, name))

    @classmethod
    def fingerprint_inputs(cls, name: str | None = None, **inputs) -> Any:
        # Another node may have added steps to the file, or the user deleted it.
        return fingerprint(FILES.changed_at(name))

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float, name: str,
        policy: Policy | None = None, guider=None, longest_jump: int = 20,
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        guider = guider_for(model, guider, cfg, examples[0])
        work = Workload(guider, examples, latent, sampler, sigmas)
        policy, levels = policy or Reuse(), sigmas.tolist()
        reach = min(longest_jump, work.num_steps) - 1
        notes = [*work.notes, *_checked(work, policy, reach)]
        conditions = {
            **work.run_conditions,
            "policy": of_policy(policy),
            "longest jump": reach + 1,
        }
        isolation = Isolation(work, FILES.path_of(name), conditions)
        missing = map(isolation.missing, isolation.known())
        progress = Progress(guider.model_patcher, sum(map(isolation.num_evaluations, missing)))

        def isolated(number: int, wanted: Sequence[int], on_measured: Callable) -> None:
            callback = progress.callback(isolation.num_evaluations(wanted))
            run = new_run(work, policy, reach)
            isolate(work, number, run, wanted, on_measured, callback)

        prompts = isolation.complete(isolated)
        named = [{"prompt": e.prompt, "seed": e.seed} for e in work.examples]
        report = propagation_report.report_of(prompts, named, levels, policy)
        text = propagation_report.text_of(report, notes)
        return io.NodeOutput(
            StepSensitivity.of(prompts, levels, policy, work.setup.conditions),
            propagation_report.figure(report),
            json_text(report),
            ui=summary_output(text),
        )


def _checked(work: Workload, policy: Policy, reach: int) -> list[str]:
    """Notes on a policy; ``ValueError`` if the analysis does not cover it or the sampler."""
    euler.refuse_others(NAME, work.sampler)
    if reason := work.setup.incompatibility(policy):
        raise ValueError(reason)
    new_run(work, policy, reach)
    note = check_policy(policy, work.setup.conditions)
    return [note] if note else []
