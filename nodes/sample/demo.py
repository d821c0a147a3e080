"""The *Golden Path Demo Model* and *Golden Path Demo Prompt* nodes."""

from __future__ import annotations

from comfy_api.latest import io

from ...demo import comfy_model, scenes
from ...demo.video import comfy_model as video_model
from ...demo.video.network import WEIGHTS, WEIGHTS_OF
from ..schema.inputs import check_known
from ..schema.node import Node
from ..schema.types import DEMO

IMAGE, VIDEO, HIGH, LOW = (
    "image", "video", "video, high-noise expert", "video, low-noise expert"
)  # fmt: skip
VIDEOS = {VIDEO: WEIGHTS, HIGH: WEIGHTS_OF["high"], LOW: WEIGHTS_OF["low"]}
DEFAULT_PROMPT = "a blue square left of a pink diamond on a striped purple background"


class DemoModel(Node):
    """Build a small trained FLUX or Wan, without a download."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_DemoModel",
            display_name="Golden Path Demo Model",
            category=DEMO,
            description=(
                "Loads a small model that is part of this extension. Use it to try the cache "
                "without a download. image: a FLUX that draws coloured shapes at 64×64 pixels. "
                "video: a Wan that draws 13 frames of shapes in motion. The experts: the same as "
                "Wan 2.2, the high-noise expert for the first half of the steps, the low-noise one "
                "for the second. Sample all of them with CFG 5."
            ),
            search_aliases=["toy model", "test model", "small FLUX", "small Wan", "example"],
            inputs=[
                io.Combo.Input(
                    "kind",
                    options=[IMAGE, *VIDEOS],
                    default=IMAGE,
                    optional=True,
                    tooltip=(
                        "A video needs an empty video latent of 64×64 pixels and 13 frames, and "
                        "CLIP Text Encode. Its prompts: 'red circle moves left', 'green cross "
                        "turns' (or grows, shrinks), 'red cross moves up past pink square', each "
                        "followed by 'on plain blue background' (or gradient)."
                    ),
                )
            ],
            outputs=[io.Model.Output(), io.Vae.Output(), io.Clip.Output()],
        )

    @classmethod
    def execute(cls, kind: str = IMAGE) -> io.NodeOutput:
        if kind == IMAGE:
            clip = comfy_model.DemoCLIP()
            return io.NodeOutput(comfy_model.load_model(), comfy_model.DemoVAE(), clip)
        model = video_model.load_model(VIDEOS[kind])
        return io.NodeOutput(model, video_model.VideoVAE(), video_model.load_clip())


class DemoPrompt(Node):
    """Encode text in the demo's small vocabulary as CONDITIONING."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_DemoPrompt",
            display_name="Golden Path Demo Prompt",
            category=DEMO,
            description=(
                "Turns a prompt into conditioning for the Golden Path Demo Model. Leave it empty "
                "for the negative prompt."
            ),
            search_aliases=["toy prompt", "text encode", "shapes"],
            inputs=[
                io.String.Input(
                    "text",
                    default=DEFAULT_PROMPT,
                    multiline=True,
                    tooltip=(
                        f"Colours: {', '.join(scenes.COLORS)}. Shapes: {', '.join(scenes.SHAPES)}. "
                        "Forms: 'two red circles', 'large red circle', 'red circle left of blue "
                        "square' (or above), each followed by 'on striped blue background'. "
                        f"Backgrounds: {', '.join(scenes.PATTERNS)}."
                    ),
                )
            ],
            outputs=[io.Conditioning.Output()],
        )

    @classmethod
    def check_inputs(cls, text: str | None = None) -> None:
        check_known((scenes.words_of, text))

    @classmethod
    def execute(cls, text: str) -> io.NodeOutput:
        clip = comfy_model.DemoCLIP()
        return io.NodeOutput(clip.encode_from_tokens_scheduled(clip.tokenize(text)))
