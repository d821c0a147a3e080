"""The *Scoring Examples* node: prompts and seeds that schedules are scored on."""

from __future__ import annotations

from dataclasses import dataclass

import node_helpers
from comfy_api.latest import io

from ...gph_core.search.scoring_prompts import PROMPTS, SEEDS, parse_prompts, parse_seeds, seeds_for
from ..schema.inputs import check_known
from ..schema.node import Node
from ..schema.types import CATEGORY, ExamplesType


@dataclass(frozen=True)
class Example:
    """Prompt with the noise that it is sampled from."""

    prompt: str  # for people; empty if only its conditioning is known
    positive: list
    negative: list | None
    seed: int


class ScoringExamples(Node):
    """Build examples from prompts and seeds."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_ScoringExamples",
            display_name="Scoring Examples",
            category=CATEGORY,
            description=(
                "Collects the prompts and seeds on which schedules are compared: each cached "
                "image is compared with the full run. More examples make the result more "
                "reliable. For the validation of Schedule Search, use a second node with other "
                "prompts."
            ),
            search_aliases=["prompts", "golden path", "search", "calibration", "examples"],
            inputs=[
                io.String.Input(
                    "prompts",
                    default="\n".join(PROMPTS),
                    multiline=True,
                    tooltip=(
                        "One per line. The default is the eight prompts of the GPH paper. Use "
                        "the kind of prompts that you will use later. More prompts make the "
                        "search slower but its result more reliable. They need clip."
                    ),
                ),
                io.String.Input(
                    "seeds",
                    default=", ".join(map(str, SEEDS)),
                    tooltip="One seed for all prompts, or one for each, separated by commas.",
                ),
                io.String.Input(
                    "negative",
                    default="",
                    multiline=True,
                    optional=True,
                    tooltip="The negative prompt of all examples, for CFG above 1.",
                ),
                io.Clip.Input(
                    "clip", optional=True, tooltip="The model's text encoder, for the prompts."
                ),
                io.Float.Input(
                    "guidance",
                    default=0.0,
                    min=0.0,
                    max=100.0,
                    step=0.1,
                    optional=True,
                    tooltip=(
                        "Guidance of distilled models such as FLUX.1-dev, as set by the node "
                        "FluxGuidance (3.5 is usual). 0: the model's own."
                    ),
                ),
                io.Conditioning.Input(
                    "positive",
                    optional=True,
                    tooltip=(
                        "A ready conditioning instead of the prompts: one example for each "
                        "different seed."
                    ),
                ),
                io.Conditioning.Input(
                    "negative_conditioning",
                    optional=True,
                    tooltip="A ready conditioning instead of the negative prompt.",
                ),
                ExamplesType.Input(
                    "more",
                    optional=True,
                    tooltip="Examples of another node; these are added to them.",
                ),
            ],
            outputs=[ExamplesType.Output(display_name="examples")],
        )

    @classmethod
    def check_inputs(cls, seeds: str | None = None) -> None:
        check_known((parse_seeds, seeds))

    @classmethod
    def execute(
        cls, prompts: str, seeds: str, negative: str = "", clip=None, guidance: float = 0.0,
        positive=None, negative_conditioning=None, more: tuple[Example, ...] = (),
    ) -> io.NodeOutput:  # fmt: skip
        numbers = parse_seeds(seeds)
        if positive is not None:
            different = dict.fromkeys(numbers)
            examples = [Example("", positive, negative_conditioning, seed) for seed in different]
            return io.NodeOutput((*more, *examples))
        if clip is None:
            raise ValueError(
                "the prompts need a text encoder: connect clip, or connect a ready conditioning "
                "to positive"
            )
        lines = parse_prompts(prompts)
        away = negative_conditioning or _encoded(clip, negative)
        return io.NodeOutput(
            tuple(more)
            + tuple(
                Example(line, _guided(_encoded(clip, line), guidance), away, seed)
                for line, seed in zip(lines, seeds_for(numbers, lines), strict=True)
            )
        )


def _encoded(clip, text: str) -> list:
    return clip.encode_from_tokens_scheduled(clip.tokenize(text))


def _guided(conditioning: list, guidance: float) -> list:
    if guidance == 0:
        return conditioning
    return node_helpers.conditioning_set_values(conditioning, {"guidance": guidance})
