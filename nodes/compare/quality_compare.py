"""The *Quality Compare* node: metrics, pictures and verdicts of two batches of images."""

from __future__ import annotations

from typing import Any

import comfy.utils
from comfy_api.latest import io

from ...gph_core.quality.comparison import (
    Comparison,
    clip_psnr,
    comparable,
    compare,
    in_json,
)
from ...gph_core.quality.metric_table import CAPTIONS
from ...gph_core.quality.verdict import verdict
from ...gph_core.reports import error_pictures, figures
from ...gph_core.reports.tallies import tallied
from ..sample import lpips_weights
from ..schema import prompts
from ..schema.inputs import semantic_input
from ..schema.node import Node
from ..schema.summary import json_text
from ..schema.types import CATEGORY, GOLDEN
from ..semantic import judges
from . import comparison_files
from .image_metrics import judged, mean_or_block, metrics_for


class QualityCompare(Node):
    """Compare a test with its reference: figures, pictures and a verdict."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_QualityCompare",
            display_name="Quality Compare",
            category=CATEGORY,
            description=(
                "Compares images or video frames with a reference, such as a run without the "
                "cache. Shows both under a slider, says in words how visible the difference is, "
                "and measures it: PSNR, SSIM, LPIPS and, for video, the change between frames."
            ),
            search_aliases=[
                *GOLDEN,
                "PSNR",
                "SSIM",
                "LPIPS",
                "difference",
                "image comparer",
                "slider",
            ],
            is_output_node=True,
            inputs=[
                io.Image.Input(
                    "reference", tooltip="What the test should look like: the run in full."
                ),
                io.Image.Input(
                    "test",
                    tooltip="What is compared with it; as many images, of the same size.",
                ),
                io.Combo.Input(
                    "lpips",
                    options=lpips_weights.options(),
                    default=lpips_weights.OFF,
                    tooltip=(
                        "LPIPS compares as people see, with a network whose weights ComfyUI does "
                        "not bring: a file in models/lpips with torchvision's AlexNet (as in the "
                        "paper) or VGG16, or AlexNet from pytorch.org, downloaded once into that "
                        "folder when the node runs."
                    ),
                ),
                io.Boolean.Input(
                    "video",
                    default=False,
                    tooltip=(
                        "The batch is the frames of one video: play both side by side, and compare "
                        "how they change from frame to frame."
                    ),
                ),
                io.Float.Input(
                    "heat_map_max",
                    default=0.0,
                    min=0.0,
                    max=1.0,
                    step=0.01,
                    advanced=True,
                    tooltip=(
                        "The error that the heat map shows brightest; larger makes it darker. 0: "
                        "the largest error of the batch. Set it to compare several heat maps."
                    ),
                ),
                io.Float.Input(
                    "fps",
                    default=16.0,
                    min=1.0,
                    max=120.0,
                    step=1.0,
                    optional=True,
                    advanced=True,
                    tooltip="How many frames of a video are played per second.",
                ),
                semantic_input("Its prompt is that of all images."),
            ],
            outputs=[
                io.Float.Output(
                    display_name="PSNR dB",
                    tooltip="Mean of the images that differ; higher is better.",
                ),
                io.Float.Output(display_name="SSIM", tooltip="Mean; 1 is best."),
                io.Float.Output(
                    display_name="LPIPS",
                    tooltip="Mean; 0 is best. Without weights, nodes behind it do not run.",
                ),
                io.Image.Output(
                    display_name="heat map", tooltip="Black: equal. Pale yellow: the largest error."
                ),
                io.Image.Output(
                    display_name="strip", tooltip="Reference, test and heat map, side by side."
                ),
                io.String.Output(display_name="JSON", tooltip="All figures, of each image too."),
            ],
        )

    @classmethod
    def check_inputs(cls, lpips: str | None = None) -> None:
        # This turns ComfyUI's own check off: a file that is not on this machine is to cost one
        # metric, whose output then says what to do, not the whole run.
        pass

    @classmethod
    def fingerprint_inputs(cls, lpips: str | None, **inputs) -> Any:
        # The file may be there next time; the table names its workflow.
        return prompts.current().workflow_id, lpips_weights.fingerprint(lpips)

    @classmethod
    def execute(
        cls, reference, test, lpips: str, video: bool = False, heat_map_max: float = 0.0,
        fps: float = 16.0, semantic: judges.SemanticMetrics | None = None,
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        reference, test = comparable(reference, test)
        judges.check_prompt(semantic)
        measured, network = measure(reference, test, lpips, video)
        (measured,) = judged([measured], [reference, test], semantic)
        errors = error_pictures.error(reference, test)
        scale = heat_map_max or errors.max().item() or 1.0  # without any error: all black
        heat_map = error_pictures.heat_map(errors, scale)
        captions = captions_of(measured, len(reference), scale)
        strip = error_pictures.strip([reference, test, heat_map], captions, scale)
        report = {
            "images": len(reference),
            "width": reference.shape[2],
            "height": reference.shape[1],
            "lpips_network": network,
            "verdicts": verdicts(measured),
            **_figures(measured, video),
            "heat_map": {
                "shows": "mean absolute difference of the channels",
                "colormap": error_pictures.COLORMAP,
                "from": 0,
                "to": scale,
            },
        }
        if video:
            report["clip"] = {
                "fps": fps,
                "psnr": in_json(clip_psnr(measured.figures["psnr"].values)),
            }
        shown = report | {
            "workflow_id": prompts.current().workflow_id,
            "pictures": comparison_files.save(reference, test, errors, scale),
        }
        means = [mean_or_block(measured, name) for name in ("psnr", "ssim", "lpips")]
        text = json_text(report)
        return io.NodeOutput(*means, heat_map, strip, text, ui={"gph_quality": [shown]})


def _figures(measured: Comparison, video: bool) -> dict[str, Any]:
    """All figures; a tally is of images, as nobody looks at the frames of a video one by one."""
    found = measured.to_dict()
    if not video:
        found["metrics"]["psnr"] = tallied(found["metrics"]["psnr"])
    return found


def verdicts(measured: Comparison) -> list[str]:
    """Verdicts on each image, in words."""
    psnr, ssim = (measured.figures.get(name) for name in ("psnr", "ssim"))
    assert psnr is not None  # it can always be measured
    return [verdict(value, ssim.values[n] if ssim else None) for n, value in enumerate(psnr.values)]


def measure(reference, test, choice: str, video: bool) -> tuple[Comparison, str | None]:
    """Figures of two ``[B, H, W, 3]`` batches, and the name of LPIPS's network."""
    chosen, backbone = metrics_for(choice, video)
    bar = comfy.utils.ProgressBar(len(reference))
    planes = reference.movedim(-1, 1), test.movedim(-1, 1)
    return compare(*planes, chosen, lambda: bar.update(1)), backbone


def captions_of(measured: Comparison, count: int, scale: float) -> list[list[str]]:
    """Captions below each item's panels."""
    last = f"error 0 – {scale:.3g}"
    return [
        ["reference", error_pictures.SEPARATOR.join(_caption(measured, n)), last]
        for n in range(count)
    ]


def _caption(measured: Comparison, item: int):
    yield "test"
    for name, form in CAPTIONS.items():
        if name in measured.figures:
            value = measured.figures[name].values[item]
            yield "identical" if value == float("inf") else form.format(value)
