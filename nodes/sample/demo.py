"""The *Golden Path Demo Model* and *Golden Path Demo Prompt* nodes."""

from __future__ import annotations

from comfy_api.latest import io

from ...demo import comfy_model, scenes
from ..schema.types import DEMO

DEFAULT_PROMPT = "a blue square left of a pink diamond on a striped purple background"


class DemoModel(io.ComfyNode):
    """Build a small trained FLUX, without a download."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_DemoModel",
            display_name="Golden Path Demo Model",
            category=DEMO,
            description=(
                "Loads a small FLUX model that is part of this extension. Use it to try the "
                "cache without a download. It draws coloured shapes at 64×64 pixels; sample it "
                "with CFG 5."
            ),
            search_aliases=["toy model", "test model", "small FLUX", "example"],
            outputs=[io.Model.Output(), io.Vae.Output(), io.Clip.Output()],
        )

    @classmethod
    def execute(cls) -> io.NodeOutput:
        clip = comfy_model.DemoCLIP()
        return io.NodeOutput(comfy_model.load_model(), comfy_model.DemoVAE(), clip)


class DemoPrompt(io.ComfyNode):
    """Encode text of the demo's small vocabulary to CONDITIONING."""

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
    def validate_inputs(cls, text: str | None) -> bool | str:
        try:
            if text is not None:  # a linked value is not known yet
                scenes.words_of(text)
        except ValueError as error:
            return str(error)
        return True

    @classmethod
    def execute(cls, text: str) -> io.NodeOutput:
        clip = comfy_model.DemoCLIP()
        return io.NodeOutput(clip.encode_from_tokens_scheduled(clip.tokenize(text)))
