"""The *Quality Compare* node: metrics, pictures and verdicts of two batches of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import comfy.utils
from comfy_api.latest import io
from comfy_execution.graph_utils import ExecutionBlocker
from torch import Tensor

from ...gph_core.reports import figures
from ..sample import lpips_weights
from ..schema import prompts
from ..schema.inputs import semantic_input
from ..schema.node import Node
from ..schema.summary import json_text
from ..schema.types import CATEGORY, GOLDEN
from ..semantic import judges
from . import comparison_files
from .image_metrics import mean_or_block
from .pairs import Shown, of_all, one_by_one, show, show_alone


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
            is_input_list=True,  # so that a list of images has one mean and one table
            inputs=[
                io.Image.Input(
                    "reference",
                    optional=True,
                    tooltip=(
                        "What the test should look like: the run in full. Alone, it is only shown."
                    ),
                ),
                io.Image.Input(
                    "test",
                    optional=True,
                    tooltip=(
                        "What is compared with it: as many images. Of two sizes, the larger is "
                        "scaled down."
                    ),
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
                    display_name="heat map",
                    is_output_list=True,
                    tooltip="Black: equal. Pale yellow: the largest error.",
                ),
                io.Image.Output(
                    display_name="strip",
                    is_output_list=True,
                    tooltip="Reference, test and heat map, side by side.",
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
    def fingerprint_inputs(cls, lpips: Sequence[str | None], **inputs) -> Any:
        # The file may be there next time; the table names its workflow.
        return prompts.current().workflow_id, *map(lpips_weights.fingerprint, lpips)

    @classmethod
    def execute(
        cls, lpips: Sequence[str], video: Sequence[bool] = (False,),
        heat_map_max: Sequence[float] = (0.0,), reference: Sequence[Tensor] = (),
        test: Sequence[Tensor] = (), fps: Sequence[float] = (16.0,),
        semantic: Sequence[judges.SemanticMetrics | None] = (None,),
    ) -> io.NodeOutput:  # fmt: skip
        figures.require()
        for judge in semantic:
            judges.check_prompt(judge)
        missing = [name for name, given in (("reference", reference), ("test", test)) if not given]
        if missing:
            parts = [show_alone("reference", images) for images in reference]
            parts += [show_alone("test", images) for images in test]
            reason = f"nothing is connected to {' and '.join(missing)}"
            results = [ExecutionBlocker(f"Quality Compare has no figures: {reason}")] * 5
            return _output(results, parts, {})
        pairs = one_by_one(
            {
                "reference": reference, "test": test, "lpips": lpips, "video": video,
                "heat_map_max": heat_map_max, "fps": fps, "semantic": semantic,
            }
        )  # fmt: skip
        bar = comfy.utils.ProgressBar(sum(len(pair["reference"]) for pair in pairs))
        parts = [show(**pair, ticked=lambda: bar.update(1)) for pair in pairs]
        measured, report = of_all(parts, all(pair["video"] for pair in pairs))
        means = [mean_or_block(measured, name) for name in ("psnr", "ssim", "lpips")]
        pictures = [[part.heat_map for part in parts], [part.strip for part in parts]]
        return _output([*means, *pictures], parts, {"all": report} if len(parts) > 1 else {})


def _output(results: Sequence[Any], parts: Sequence[Shown], whole: dict[str, Any]):
    """What the nodes behind get, and what the page shows: also a list in one piece."""
    shown = {
        "workflow_id": prompts.current().workflow_id,
        "parts": [part.report | {"pictures": part.pictures} for part in parts],
        **whole,
    }
    shown["file"] = comparison_files.save_report(shown)
    reports = [part.report for part in parts]
    text = json_text(reports[0] if len(parts) == 1 else {**whole, "parts": reports})
    return io.NodeOutput(*results, text, ui={"gph_quality": [shown]})
