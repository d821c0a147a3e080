"""The *Schedule Search* node: find a golden path for the user's own model and settings."""

from __future__ import annotations

import math
from dataclasses import replace

from comfy_api.latest import io

from ...gph_core.experiments.search import search
from ...gph_core.paths.choice import provenance
from ...gph_core.policies.base import Policy, Site
from ...gph_core.policies.extrapolation import Hermite, Reuse
from ...gph_core.policies.fitted import Fitted
from ...gph_core.policies.mean_velocity import MeanVelocity
from ...gph_core.policies.two_anchor import TwoAnchor
from ...gph_core.quality.objective import DEFAULT
from ...gph_core.quality.semantic.guard import Guard
from ...gph_core.reports import figures, search_report
from ...gph_core.search.budget import Budget
from ...gph_core.search.judge import Race
from ...gph_core.search.protocol import SearchSettings
from ..library import user_paths
from ..library.library import stated_model
from ..sample import lpips_weights
from ..sample.examples import Example
from ..sample.workload import Workload, guider_for
from ..schema import prompts
from ..schema.inputs import (
    SHARES,
    check_known,
    count_input,
    guider_input,
    sampling_inputs,
    semantic_input,
    speed_input,
    workers_input,
)
from ..schema.node import Node
from ..schema.types import (
    CATEGORY,
    COUNT,
    GOLDEN,
    ExamplesType,
    PolicyType,
    ScheduleText,
    ScheduleType,
)
from ..semantic.judges import SemanticMetrics
from ..workers import capture
from ..workers.pooled_runner import pooled
from ..workers.ray_actors import Workers
from .search_inputs import AUTOMATIC, REQUIRED_STEPS, advanced_inputs
from .search_live import SearchLive
from .search_session import SearchInputs, check_study

SEVERAL = "several, keep the best"
# Five different ones: the GPH paper's, with velocity reuse in place of Taylor, as Hermite was
# better there.
POLICIES = (Reuse(), TwoAnchor(), Hermite(2), MeanVelocity(), Reuse(Site.GUIDED))
FITTED, REUSE = "fitted", "residual reuse"
# ``AUTOMATIC`` takes the first policy that can cache the workflow, the others all that can.
CHOICES = {
    AUTOMATIC: (Fitted(), Reuse()), FITTED: (Fitted(),), REUSE: (Reuse(),), SEVERAL: POLICIES,
}  # fmt: skip


class ScheduleSearch(Node):
    """Search for a schedule and a policy, with examples, settings and a budget."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_ScheduleSearch",
            display_name="Schedule Search",
            category=CATEGORY,
            description=(
                "Finds the schedule whose images come closest to the full run, for your model "
                "and settings, and saves it in the library. Golden Path Cache then uses it at "
                "the same speed. You can cancel at any time; queue again to continue."
            ),
            search_aliases=[*GOLDEN, "optimize", "find schedule", "calibrate", "tune"],
            is_output_node=True,
            inputs=[
                *sampling_inputs(
                    examples="From Scoring Examples. Sixteen or more are better than eight.",
                    sampler="As in your workflow. euler is searched fastest.",
                ),
                speed_input(f"{SHARES}, which then uses the path at the same speed."),
                count_input(),
                io.Float.Input(
                    "minutes",
                    default=30.0,
                    min=0.1,
                    max=100_000.0,
                    step=1.0,
                    tooltip=(
                        "Time for the search, including former runs of this study. References "
                        "and validation take extra time."
                    ),
                ),
                io.String.Input(
                    "study",
                    default="my search",
                    tooltip=(
                        "The name of the study and of the path that it finds. Queue again to "
                        "continue. Another model, sampler, CFG, size, objective or guard, other "
                        "noise levels or scoring examples need another name."
                    ),
                ),
                io.Vae.Input(
                    "vae",
                    optional=True,
                    tooltip="Decodes images for PSNR, SSIM and LPIPS; latent MSE needs none.",
                ),
                ExamplesType.Input(
                    "validation",
                    optional=True,
                    tooltip=(
                        "Other examples that choose among the best schedules, so that a schedule "
                        "that is good on a few prompts by chance does not win. Unconnected: the "
                        "result is not validated."
                    ),
                ),
                PolicyType.Input("policy", optional=True, tooltip="Search only with this policy."),
                io.Combo.Input(
                    "policies",
                    options=list(CHOICES),
                    default=AUTOMATIC,
                    optional=True,
                    tooltip=(
                        "Which policies are searched if none is connected. fitted: weights are "
                        "fitted to every schedule. automatic: fitted if the sampler allows it, "
                        "else residual reuse; the table says which. several: five policies get a "
                        "short search each, and the best two continue."
                    ),
                ),
                guider_input(),
                workers_input(),
                *advanced_inputs(),
                semantic_input("No schedule that breaks its limits can win. It needs vae."),
            ],
            outputs=[
                ScheduleType.Output(display_name="schedule"),
                PolicyType.Output(display_name="policy"),
                io.Image.Output(display_name="figure"),
                io.String.Output(display_name="table"),
            ],
            hidden=[io.Hidden.unique_id, io.Hidden.prompt],
        )

    @classmethod
    def check_inputs(cls, study: str | None = None) -> None:
        check_known((check_study, study))

    @classmethod
    def fingerprint_inputs(cls, **inputs) -> str | None:
        # It runs again in another workflow, from its study: the page shows events by workflow.
        return prompts.current().workflow_id

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float, speed: str,
        full_steps: int, minutes: float, study: str, vae=None,
        validation: tuple[Example, ...] = (), policy: Policy | None = None,
        policies: str = AUTOMATIC, guider=None, workers: Workers | None = None,
        objective: str = DEFAULT, lpips: str = lpips_weights.OFF, algorithm: str = AUTOMATIC,
        evaluations: int = 0, batch_size: int = 1, racing: bool = True, state_gib: float = 4.0,
        seed: int = 0, required_steps: str = AUTOMATIC,
        semantic: SemanticMetrics | None = None,
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        budget = Budget(evaluations or math.inf, math.inf, 60 * minutes)
        live = SearchLive(cls.hidden.unique_id, objective, budget)
        guider = guider_for(model, guider, cfg, examples[0])
        scoring = Workload(guider, examples, latent, sampler, sigmas)
        count = scoring.full_of(full_steps if speed == COUNT else speed)
        inputs = SearchInputs(
            scoring, replace(scoring, examples=validation), objective, vae, lpips, batch_size,
            semantic,
        )  # fmt: skip
        if capture.take(inputs):  # in a worker
            return io.NodeOutput()
        live.scores_on(len(scoring))
        # A study may serve several numbers of full steps.
        name = f"{study}, {count} of {scoring.num_steps}"
        user_paths.check_replaceable(name)
        inputs.check(count)
        tried = (policy,) if policy else CHOICES[policies]
        inputs.check_saving(name, tried)
        fixed_ends = REQUIRED_STEPS[required_steps]
        settings = SearchSettings(
            count, budget, None if algorithm == AUTOMATIC else algorithm, objective, seed,
            Race(max(2, batch_size)) if racing else None, fixed_ends,
            semantic.guard if semantic else Guard(),
        )  # fmt: skip
        with pooled(workers, inputs, live, cls.hidden) as runners:
            session = inputs.session(study, count, runners, state_gib * 2**30, fixed_ends)
            live.enter("preparing")
            in_order = policies == AUTOMATIC
            delivery, notes = search(session, tried, settings, live, in_order)
        path = search_report.path_of(
            delivery, name, stated_model(guider.model_patcher), sigmas.tolist(),
            inputs.described(), bool(validation),
        )  # fmt: skip
        user_paths.library().save(path, overwrite=True)
        best, text = delivery.best, search_report.table(delivery, bool(validation), notes)
        return io.NodeOutput(
            ScheduleText(best.schedule, provenance(path)), best.policy,
            search_report.figure(delivery, live.facts["curve"]), text,
            ui={"gph_search": [live.finish(text, best, bool(validation))]},
        )  # fmt: skip
