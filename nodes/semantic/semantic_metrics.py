"""The *Semantic Metrics* node: judges of how well images fit their prompts."""

from __future__ import annotations

from comfy_api.latest import io

from ...gph_core.quality.semantic.guard import Guard
from ..schema.types import COMPARE, SemanticType
from .clip_judge import ClipJudge
from .judges import Judge, SemanticMetrics


class SemanticMetricsNode(io.ComfyNode):
    """Collect judges for the nodes that compare images."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_SemanticMetrics",
            display_name="Semantic Metrics",
            category=COMPARE,
            description=(
                "Judges how well images fit their prompt, by the CLIP score. PSNR and SSIM only "
                "say how close an image is to the full run, not whether it is as good. Connect "
                "it to Quality Compare, Golden Path Compare Run, Method Shootout or Schedule "
                "Search."
            ),
            search_aliases=["CLIP score", "CLIPScore", "prompt", "alignment"],
            inputs=[
                io.ClipVision.Input(
                    "clip_vision",
                    optional=True,
                    tooltip=(
                        "For the CLIP score: the image encoder of a CLIP, from Load CLIP Vision. "
                        "Tables in papers mostly use CLIP ViT-L/14."
                    ),
                ),
                io.Clip.Input(
                    "clip",
                    optional=True,
                    tooltip=(
                        "For the CLIP score: the text encoder of the same CLIP, from Load CLIP. "
                        "Its file needs a text_projection, which those of many models lack."
                    ),
                ),
                io.String.Input(
                    "prompt",
                    default="",
                    multiline=True,
                    tooltip=(
                        "What the images show: for Quality Compare and Compare Run, which have "
                        "no text. Scoring examples bring their own."
                    ),
                ),
                io.Float.Input(
                    "max_clip_fall",
                    default=0.5,
                    min=0.0,
                    max=100.0,
                    step=0.05,
                    round=0.001,
                    advanced=True,
                    tooltip=(
                        "Only for Schedule Search: how far the mean CLIP score may be below that "
                        "of the full runs. Larger allows more schedules; 100 allows all."
                    ),
                ),
            ],
            outputs=[SemanticType.Output(display_name="semantic")],
        )

    @classmethod
    def execute(
        cls, clip_vision=None, clip=None, prompt: str = "", max_clip_fall: float = 0.5
    ) -> io.NodeOutput:
        judges: dict[str, Judge] = {}
        limits = {}
        if (clip_vision is None) != (clip is None):
            given, other = "clip_vision", "clip"
            if clip_vision is None:
                given, other = other, given
            raise ValueError(
                f"the CLIP score needs clip_vision and clip; {given} is connected, connect {other} "
                "too"
            )
        if clip_vision is not None:
            judges["clip_score"] = ClipJudge(clip_vision, clip)
            limits["clip_change"] = max_clip_fall
        if not judges:
            raise ValueError("there is nothing to judge with; connect clip_vision and clip")
        return io.NodeOutput(SemanticMetrics(judges, prompt, Guard(limits)))
