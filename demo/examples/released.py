"""The example workflows of released models. Standard library only.

Files, links and settings are those of ComfyUI's own templates.
"""

from __future__ import annotations

import importlib.resources
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .drawing import Column, Part, drawn, note

# The version of comfyui-workflow-templates that the files are made from (ComfyUI 0.30.0 pins it).
TEMPLATES = "0.11.27"
WIDTHS = (340, 280, 340, 300)


class Released(NamedTuple):
    """A workflow of a model that others released.

    Args:
        template: the template of ComfyUI that has its files.
        steps: of one sampler; ``full`` of them stay full.
        hint: what its note says of this model alone.
        columns: the nodes below the note, and those of each column beside it.
        experts: how many samplers share a run.
        learns: whether *learn* is on.
        schedule: of the speed *Custom*, for all samplers together.
    """

    name: str
    template: str
    model: str
    speed: str
    steps: int
    full: int
    hint: str
    columns: Sequence[Mapping[str, Part]]
    experts: int = 1
    widths: Sequence[int] = WIDTHS
    note_height: int = 400
    learns: bool = False
    schedule: str = ""


def build(example: Released) -> dict:
    """The workflow, in the page's format 0.4."""
    known = list(_packaged_models(example.template))
    columns = [
        Column(width, {key: _with_models(part, known) for key, part in parts.items()})
        for width, parts in zip(example.widths, example.columns, strict=True)
    ]
    files = [model for column in columns for part in column.parts.values() for model in part.models]
    first = {"note": note(_note_text(example, files), example.note_height), **columns[0].parts}
    workflow_id = uuid.uuid5(uuid.NAMESPACE_URL, example.name)
    return drawn([columns[0]._replace(parts=first), *columns[1:]], str(workflow_id))


def _note_text(example: Released, files: Sequence[Mapping[str, str]]) -> str:
    several = example.experts > 1
    nodes = "both *Golden Path Cache*" if several else "*Golden Path Cache*"
    show = "They show" if several else "It shows"
    lines = (f"- [{file['name']}]({file['url']}) in *{file['directory']}*" for file in files)
    first = (
        "Press *Run* twice. These two images are computed in full, and the node learns from them. "
        "From the third on " if example.learns else "Press *Run*. "
    )  # fmt: skip
    learn = (
        "4. Set *learn* to *from 2 images*: the next two images are computed in full, later ones "
        "are fast and closer to full ones.\n"
    )
    return (
        f"## {example.model}, up to {example.steps / example.full:.1f}× faster\n\n"
        f"1. {first}*{example.speed}* computes {example.full} of {example.steps} steps "
        f"{'of each expert ' if several else ''}in full and predicts the others.\n"
        f"2. Look at {nodes}. {show} which steps were full, their time and the speed-up.\n"
        "3. To compare, press *Run this seed in full* on the node: that image is exactly the one "
        "without this extension.\n"
        f"{'' if example.learns or example.schedule else learn}\n{example.hint}\n\n"
        "**Files**, in folders of *ComfyUI/models*:\n" + "\n".join(lines)
    )


# --- files ----------------------------------------------------------------------------------------


def _with_models(part: Part, known: Sequence[Mapping[str, str]]) -> Part:
    """The part with the sources of the files that it loads."""
    files = [value for value in part.values if str(value).endswith(".safetensors")]
    return part._replace(models=[next(m for m in known if m["name"] == file) for file in files])


def _packaged_models(template: str) -> Iterator[dict[str, str]]:
    """Name, address and folder of each file that a template of ComfyUI loads."""
    package: Any = importlib.resources.files("comfyui_workflow_templates_json")
    workflow = json.loads((package / "templates" / f"{template}.json").read_text("utf-8"))
    for graph in (workflow, *workflow.get("definitions", {}).get("subgraphs", [])):
        for node in graph["nodes"]:
            for model in node["properties"].get("models", []):
                yield {key: model[key] for key in ("name", "url", "directory")}
