"""The *Semantic Metrics* node: judges of how well images fit their prompts."""

from __future__ import annotations

from typing import Any

from comfy_api.latest import io

from ...gph_core.quality.semantic.guard import Guard
from ..schema.inputs import check_known
from ..schema.node import Node
from ..schema.types import COMPARE, SemanticType
from . import image_reward as rewards
from .clip_judge import ClipJudge
from .judges import Judge, SemanticMetrics


class SemanticMetricsNode(Node):
    """Collect judges for the nodes that compare images."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_SemanticMetrics",
            display_name="Semantic Metrics",
            category=COMPARE,
            description=(
                "Judges how well images fit their prompt, by the CLIP score, and how much people "
                "would like them, by ImageReward. PSNR and SSIM only say how close an image is "
                "to the full run, not whether it is as good. Connect it to Quality Compare, "
                "Golden Path Compare Run, Method Shootout or Schedule Search."
            ),
            search_aliases=["CLIP score", "ImageReward", "preference", "prompt alignment"],
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
                io.Combo.Input(
                    "image_reward",
                    options=rewards.options(),
                    default=rewards.OFF,
                    tooltip=(
                        "Weights of ImageReward in models/image_reward, which also needs the file "
                        "vocab.txt; the help page says where to get both. Nothing is downloaded."
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
                io.Float.Input(
                    "max_reward_fall",
                    default=0.1,
                    min=0.0,
                    max=100.0,
                    step=0.01,
                    round=0.001,
                    advanced=True,
                    tooltip="The same for the mean of ImageReward, whose values are about -2 to 2.",
                ),
            ],
            outputs=[SemanticType.Output(display_name="semantic")],
        )

    @classmethod
    def check_inputs(cls, image_reward: str | None = None) -> None:
        # This replaces ComfyUI's own check, which would not say what to do.
        check_known((rewards.check, image_reward))

    @classmethod
    def fingerprint_inputs(cls, image_reward: str | None, **inputs) -> Any:
        return rewards.fingerprint(image_reward)

    @classmethod
    def execute(
        cls, clip_vision=None, clip=None, image_reward: str = rewards.OFF, prompt: str = "",
        max_clip_fall: float = 0.5, max_reward_fall: float = 0.1,
    ) -> io.NodeOutput:  # fmt: skip
        judges: dict[str, Judge] = {}
        limits = {}
        if (clip_vision is None) != (clip is None):
            given, missing = "clip_vision", "clip"
            if clip_vision is None:
                given, missing = missing, given
            raise ValueError(
                f"the CLIP score needs clip_vision and clip; {given} is connected, connect "
                f"{missing} too"
            )
        if clip_vision is not None:
            judges["clip_score"] = ClipJudge(clip_vision, clip)
            limits["clip_change"] = max_clip_fall
        if image_reward != rewards.OFF:
            judges["image_reward"] = rewards.load(image_reward)
            limits["reward_change"] = max_reward_fall
        if not judges:
            raise ValueError(
                "there is nothing to judge with; connect clip_vision and clip, or choose weights "
                "in image_reward"
            )
        return io.NodeOutput(SemanticMetrics(judges, prompt, Guard(limits)))
