"""The *Golden Path Compare Run* node: cost and savings of a path, on the user's own prompt."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import comfy.model_management
import comfy.samplers
import torch
from comfy_api.latest import io
from torch import Tensor

from ...gph_core.paths.speeds import AUTOMATIC, NAMES
from ...gph_core.policies.base import Policy
from ...gph_core.reports import compare_report, figures
from ...gph_core.run.levels import along
from ..cache.cache import CUSTOM, check_speed, plan_of
from ..hook import samplers
from ..library import user_paths
from ..sample import lpips_weights
from ..sample.assessing import decode
from ..sample.examples import Example
from ..sample.progress import Progress
from ..sample.workload import guider_for
from ..schema import prompts
from ..schema.inputs import semantic_input
from ..schema.node import Node
from ..schema.summary import json_text
from ..schema.types import COMPARE, DEFAULT_SCHEDULE, PolicyType, ScheduleType
from ..semantic import judges
from .compare_session import prepare, sampling_of, scheduled
from .image_metrics import mean_or_block, measured_beside_first

NAME = "Golden Path Compare Run"
CHOICES = (*NAMES, CUSTOM)
_LOG = logging.getLogger(__name__)


class CompareRun(Node):
    """Compare four ways of sampling: images, figures and times."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_CompareRun",
            display_name=NAME,
            category=COMPARE,
            description=(
                "Samples one prompt four times from the same noise: in full, with the cache, "
                "with evenly spaced full steps, and with fewer plain steps. Compares images and "
                "times. Use it instead of KSampler to see what the cache costs. Takes about as "
                "long as the full run and three fast ones."
            ),
            search_aliases=["benchmark", "compare", "speed test", "PSNR", "KSampler", "A/B test"],
            is_output_node=True,
            inputs=[
                io.Model.Input("model", tooltip="A cache node before it has no effect here."),
                io.Int.Input(
                    "seed",
                    default=0,
                    min=0,
                    max=2**64 - 1,
                    control_after_generate=True,
                    tooltip="The seed of the noise, the same for all four runs.",
                ),
                io.Int.Input(
                    "steps", default=20, min=1, max=10000, tooltip="Of all runs except the last."
                ),
                io.Float.Input(
                    "cfg",
                    default=1.0,
                    min=0.0,
                    max=100.0,
                    step=0.1,
                    round=0.01,
                    tooltip="Your CFG; 1 for distilled models such as FLUX.1-dev.",
                ),
                io.Combo.Input(
                    "sampler_name",
                    options=comfy.samplers.KSampler.SAMPLERS,
                    default="euler",
                    tooltip="As in KSampler.",
                ),
                io.Combo.Input(
                    "scheduler",
                    options=comfy.samplers.KSampler.SCHEDULERS,
                    default="simple",
                    tooltip="As in KSampler.",
                ),
                io.Conditioning.Input("positive", tooltip="The prompt."),
                io.Conditioning.Input("negative", tooltip="The negative prompt, unused at CFG 1."),
                io.Latent.Input(
                    "latent_image", tooltip="An empty latent, an image, or a batch of them."
                ),
                io.Float.Input(
                    "denoise",
                    default=1.0,
                    min=0.01,
                    max=1.0,
                    step=0.01,
                    tooltip="As in KSampler: below 1 it starts from the latent with some noise.",
                ),
                io.Vae.Input("vae", tooltip="Decodes the four results, to compare images."),
                io.Combo.Input(
                    "speed",
                    options=list(CHOICES),
                    default=AUTOMATIC,
                    tooltip=(
                        "How many steps stay full, and which, as in Golden Path Cache. Automatic: "
                        "Balanced from 40 steps on, Quality for fewer. Custom uses the schedule "
                        "below."
                    ),
                ),
                io.MultiType.Input(
                    io.String.Input("schedule", default=DEFAULT_SCHEDULE),
                    types=[ScheduleType],
                    tooltip=(
                        "Only for Custom: the full steps, then / and the number of steps, as in "
                        f"{DEFAULT_SCHEDULE}."
                    ),
                ),
                io.Combo.Input(
                    "lpips",
                    options=lpips_weights.options(),
                    default=lpips_weights.OFF,
                    tooltip="Weights for LPIPS, as in Quality Compare.",
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip=(
                        "How cached steps are predicted. Unconnected: the same as in Golden Path "
                        "Cache."
                    ),
                ),
                io.Sampler.Input(
                    "sampler", optional=True, tooltip="Your sampler, instead of sampler_name."
                ),
                io.Sigmas.Input(
                    "sigmas",
                    optional=True,
                    tooltip=(
                        "Your noise levels, instead of scheduler, steps and denoise. The run "
                        "with fewer steps takes levels along the same curve."
                    ),
                ),
                io.Guider.Input(
                    "guider",
                    optional=True,
                    tooltip=(
                        "Your guider with its prompts, instead of model, positive, negative and "
                        "cfg."
                    ),
                ),
                semantic_input("Its prompt should be the one of positive."),
            ],
            outputs=[
                io.Image.Output(
                    display_name="images",
                    is_output_list=True,
                    tooltip=(
                        "One batch: full, cached, uniform, fewer steps. For videos, a list in "
                        "this order with one batch of frames each."
                    ),
                ),
                io.Image.Output(
                    display_name="figure",
                    tooltip="Steps, image, figures and time of each run (videos: middle frame).",
                ),
                io.String.Output(display_name="table"),
                io.String.Output(display_name="JSON", tooltip="All figures, also for each image."),
                io.Float.Output(
                    display_name="PSNR dB", tooltip="Of the cached run; higher is better."
                ),
                io.Float.Output(display_name="SSIM", tooltip="Of the cached run; 1 is best."),
                io.Float.Output(
                    display_name="speed-up", tooltip="Seconds of the full run / the cached run."
                ),
            ],
        )

    @classmethod
    def check_inputs(
        cls, speed: str | None = None, schedule: str | None = None, lpips: str | None = None
    ) -> None:
        # lpips turns ComfyUI's check off: missing weights are to cost one metric, not the run.
        check_speed(speed, schedule, CHOICES)

    @classmethod
    def fingerprint_inputs(cls, lpips: str | None, **inputs) -> Any:
        # A search may have found a better path, and the weights may be there now; the table names
        # its workflow.
        weights = lpips_weights.fingerprint(lpips)
        return prompts.current().workflow_id, weights, repr(user_paths.read())

    @classmethod
    def execute(
        cls, model, seed: int, steps: int, cfg: float, sampler_name: str, scheduler: str,
        positive, negative, latent_image, denoise: float, vae, speed: str, schedule: str,
        lpips: str = lpips_weights.OFF, policy: Policy | None = None, sampler=None, sigmas=None,
        guider=None, semantic: judges.SemanticMetrics | None = None,
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        judges.check_prompt(semantic)
        guider = guider_for(model, guider, cfg, Example("", positive, negative, seed))
        patcher = guider.model_patcher
        if sigmas is None:
            name = sampler_name if sampler is None else samplers.name(sampler)
            levels = scheduled(patcher, name, scheduler, denoise)
            sigmas = levels(steps)
        else:
            levels = along(sigmas)
        sampler = sampler or comfy.samplers.sampler_object(sampler_name)
        plan = plan_of(speed, schedule, policy)
        sampling = sampling_of(guider, latent_image, sampler, sigmas, seed)
        session = prepare(sampling, plan, levels)
        runs = session.run(Progress(patcher, session.num_steps))
        # Only now: a VAE may push the model out of the device's memory.
        decoded = [decode(vae, run.latent) for run in runs]
        pictures = [frames.flatten(0, 1)[..., :3] for frames in decoded]
        frames = decoded[0].shape[1]
        measured, network = measured_beside_first(pictures, lpips, frames, semantic)
        report = compare_report.report_of(
            session.choice, session.no_uniform, runs, measured, network, speed, frames
        )
        number, height, width, _ = pictures[0].shape
        report |= {"images": number, "width": width, "height": height}
        text = compare_report.table(report)
        _LOG.info("%s:\n%s", NAME, text)
        table = report | {"workflow_id": prompts.current().workflow_id}
        return io.NodeOutput(
            batches(decoded), compare_report.figure(runs, pictures, report), text,
            json_text(report),
            *[mean_or_block(measured[0], name, NAME) for name in ("psnr", "ssim")],
            report["runs"][1]["speedup"],
            ui={"gph_compare": [table]},
        )  # fmt: skip


def batches(decoded: Sequence[Tensor]) -> list[Tensor]:
    """Output for the images of runs, ``[B, F, H, W, C]`` each: one batch, or videos."""
    if decoded[0].shape[1] == 1:
        return [torch.cat([images.flatten(0, 1) for images in decoded])]
    return [video for images in decoded for video in images]
