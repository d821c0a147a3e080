"""The *Method Shootout* node: all methods at one number of full steps, on the same examples."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial

import comfy.model_management
from comfy_api.latest import io

from ...gph_core.calibration import file
from ...gph_core.calibration.entry import Calibration
from ...gph_core.experiments.candidates import LineUp
from ...gph_core.experiments.shootout import Shootout
from ...gph_core.methods.candidates import USUAL, names_of, schedules_of
from ...gph_core.methods.table import ALL, VARIANTS
from ...gph_core.paths.library import NONE, check_name
from ...gph_core.policies.base import Policy
from ...gph_core.quality.shootout import Results
from ...gph_core.reports import figures
from ...gph_core.reports.shootout.figure import figure
from ...gph_core.reports.shootout.report import report_of
from ...gph_core.reports.shootout.table import table
from ..hook import fingerprint
from ..library import calibrations, user_paths
from ..library.user_files import UserFiles
from ..sample import lpips_weights
from ..sample.assessing import assessor_of, is_video
from ..sample.examples import Example
from ..sample.sampling import samples_of
from ..sample.workload import Workload, guider_for
from ..schema.inputs import (
    check_known,
    count_input,
    guider_input,
    sampling_inputs,
    semantic_input,
    speed_input,
    workers_input,
)
from ..schema.node import Node
from ..schema.summary import json_text
from ..schema.types import COMPARE, COUNT, PolicyType, ScheduleType
from ..semantic.judges import SemanticMetrics
from ..workers import capture, jobs
from ..workers.ray_actors import Workers
from .candidate_runs import CandidateRuns, identity
from .shootout_live import ShootoutLive

NAME = "Method Shootout"
FILES = UserFiles("shootouts", ".jsonl")
_LOG = logging.getLogger(__name__)


class MethodShootout(Node):
    """Compare methods on examples: a table and a figure."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_MethodShootout",
            display_name=NAME,
            category=COMPARE,
            description=(
                "Samples the same examples with many caching methods at the same number of full "
                "steps, and compares each image with that of the full run. Use it to choose a "
                "method for your model. You can cancel at any time; queue again to continue."
            ),
            search_aliases=[
                "benchmark", "compare methods", "compare TeaCache", "compare SeaCache",
                "compare TaylorSeer", "PSNR", "LPIPS",
            ],
            is_output_node=True,
            inputs=[
                *sampling_inputs(
                    "With its LoRAs. A cache node before it has no effect here.",
                    "From Scoring Examples. Use other examples than for a search or a "
                    "calibration. More examples make the intervals narrower.",
                ),
                speed_input(),
                count_input(),
                io.Combo.Input(
                    "calibration",
                    options=[NONE, *calibrations.FILES.names()],
                    default=NONE,
                    tooltip=(
                        "A file of Calibrate and Calibrate Ratio, made with this model, sampler, "
                        "steps, size and CFG. Methods that lack something in it are left out, "
                        "and the table says what."
                    ),
                ),
                io.String.Input(
                    "methods",
                    default="\n".join(USUAL),
                    multiline=True,
                    tooltip=(
                        "What is compared, one per line; delete what you do not need. fitted: a "
                        "golden path with weights. golden path: one without weights, as Golden "
                        "Path Cache would choose it. uniform: evenly spaced full steps. plain "
                        "steps: a run of only that many steps without a cache. You can also add "
                        f"{', '.join(VARIANTS)}."
                    ),
                ),
                io.String.Input(
                    "name",
                    default="my shootout",
                    tooltip=(
                        "Runs are saved under this name. Another model, sampler, CFG, size, VAE "
                        "or other noise levels need another name; more examples or methods do "
                        "not."
                    ),
                ),
                io.Vae.Input(
                    "vae",
                    optional=True,
                    tooltip=(
                        "Decodes images for PSNR, SSIM and LPIPS. Without it only latents are "
                        "compared."
                    ),
                ),
                io.Combo.Input(
                    "lpips",
                    options=lpips_weights.options(),
                    default=lpips_weights.OFF,
                    optional=True,
                    tooltip="Weights for LPIPS, as in Quality Compare.",
                ),
                io.MultiType.Input(
                    io.String.Input("schedule", default="", multiline=True),
                    types=[ScheduleType],
                    optional=True,
                    tooltip=(
                        "Your own schedules to compare, one per line: the full steps, then / and "
                        "the number of steps. You can put a name and a colon in front. Empty: "
                        "none."
                    ),
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip=(
                        "How cached steps are predicted under your schedules, golden path and "
                        "uniform. Unconnected: residual reuse, for a golden path what Golden Path "
                        "Cache takes. Methods use their own policies."
                    ),
                ),
                guider_input(),
                workers_input("All runs of an example are timed on one worker."),
                semantic_input("Each example has its own prompt. It needs vae."),
            ],
            outputs=[
                io.Image.Output(
                    display_name="figure",
                    tooltip="The schedules that occurred, and the share of runs with each.",
                ),
                io.String.Output(display_name="table"),
                io.String.Output(display_name="JSON", tooltip="All figures, also per example."),
            ],
            hidden=[io.Hidden.unique_id, io.Hidden.prompt],
        )  # fmt: skip

    @classmethod
    def check_inputs(
        cls, methods: str | None = None, name: str | None = None, schedule: str | None = None,
        calibration: str | None = None, lpips: str | None = None,
    ) -> None:  # fmt: skip
        # lpips turns ComfyUI's check off: missing weights are to cost one metric, not the run.
        check_known(
            (names_of, methods), (check_name, name), (schedules_of, schedule),
            (entries_of, calibration),
        )  # fmt: skip

    @classmethod
    def fingerprint_inputs(cls, **inputs) -> float:
        # Always run: existing results are only looked up, and paths or the calibration may have
        # changed.
        return float("nan")

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float, speed: str,
        full_steps: int, calibration: str, methods: str, name: str, vae=None,
        lpips: str = lpips_weights.OFF, schedule: str = "", policy: Policy | None = None,
        guider=None, workers: Workers | None = None, semantic: SemanticMetrics | None = None,
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        guider = guider_for(model, guider, cfg, examples[0])
        workload = Workload(guider, examples, latent, sampler, sigmas)
        full = workload.full_of(full_steps if speed == COUNT else speed)
        line_up = LineUp(
            workload.setup, full, entries_of(calibration), policy, user_paths.every(),
            identity,
        )  # fmt: skip
        candidates, absent = line_up.candidates(names_of(methods), schedules_of(schedule))
        video = is_video(samples_of(guider.model_patcher, latent), vae)
        texts = [example.prompt for example in workload.examples]
        if semantic is not None:
            semantic.check(texts, vae)
        assessor, unavailable, network = assessor_of(vae, lpips, video, semantic)
        device = guider.model_patcher.load_device
        conditions = {
            **workload.run_conditions,
            "device": comfy.model_management.get_torch_device_name(device),
            "VAE": vae and fingerprint.of_module(vae),
            "LPIPS weights": network and lpips_weights.file_name(lpips),
            **(semantic.conditions(texts) if semantic else {}),
        }
        plans = {candidate.name: candidate.plan for candidate in candidates}
        of_runs = conditions | {"examples": workload.names(), "candidates": plans}
        runs = CandidateRuns(workload, candidates, assessor, of_runs)
        if capture.take(runs):  # in a worker
            return io.NodeOutput()
        results = Results(FILES.path_of(name), conditions)
        live = ShootoutLive(cls.hidden.unique_id, len(workload))
        runs = replace(runs, on_run=live.runs)
        reported = partial(
            report_of, num_full=full, absent=absent, unavailable=unavailable, network=network
        )
        measured = {"latent_mse", *assessor.image_metrics}
        with jobs.shared(workers, runs, cls.hidden) as shared:
            shootout = Shootout(
                workload, candidates, measured, results, shared.jobs,
                lambda s: live.shows(reported(s.standing())),
            )  # fmt: skip
            shootout.run()
        report = reported(shootout.standing())
        text = "\n".join([table(report), *shared.notes])
        _LOG.info("%s:\n%s", NAME, text)
        return io.NodeOutput(
            figure(report), text, json_text(report),
            ui={"gph_shootout": [live.event(report)]},
        )  # fmt: skip


def entries_of(calibration: str) -> dict[str, Calibration]:
    """Entries of a calibration file by method; ``ValueError`` if it cannot be read."""
    if calibration == NONE:
        return {}
    entries = file.load_all(calibrations.existing(calibration))
    return {name: entry for name, entry in entries.items() if name in ALL}
