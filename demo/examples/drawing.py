"""Example workflows that are drawn node by node. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .edits import Ids, add_note, cache_node, connect, finished, node_of

Box = tuple[int, int, int, int]  # left, top, width, height


class Part(NamedTuple):
    """A node: its place, the sources of its inputs, its outputs, the values of its widgets."""

    kind: str
    box: Box
    inputs: Mapping[str, tuple[str, str]] = {}  # the key of another part, and its output's name
    outputs: Mapping[str, str] = {}  # name: type
    values: Sequence = ()
    title: str | None = None


MODEL = Part(
    "GPH_DemoModel", (40, 120, 280, 130), {}, {k: k for k in ("MODEL", "VAE", "CLIP")}, ("image",)
)


def sampling(steps: int) -> dict[str, Part]:
    """Nodes that sample the part *model*: Euler on simple noise levels, one image of it."""
    return {
        "latent": Part(
            "EmptyLatentImage", (500, 120, 280, 110), {}, {"LATENT": "LATENT"}, (64, 64, 1)
        ),
        "sampler": Part(
            "KSamplerSelect", (500, 280, 280, 60), {}, {"SAMPLER": "SAMPLER"}, ("euler",)
        ),
        "sigmas": Part(
            "BasicScheduler", (500, 390, 280, 110), {"model": ("model", "MODEL")},
            {"SIGMAS": "SIGMAS"}, ("simple", steps, 1.0),
        ),
    }  # fmt: skip


def examples(title: str, box: Box, prompts: Sequence[str], seed: int) -> Part:
    """Scoring Examples with a seed for each prompt, of the part *model*."""
    seeds = ", ".join(str(seed + n) for n in range(len(prompts)))
    return Part(
        "GPH_ScoringExamples", box, {"clip": ("model", "CLIP")},
        {"examples": "GPH_EXAMPLES"}, ("\n".join(prompts), seeds, "", 0.0), title,
    )  # fmt: skip


def prompt(title: str, box: Box, text: str) -> Part:
    """A prompt of the part *model*."""
    return Part(
        "CLIPTextEncode", box, {"clip": ("model", "CLIP")},
        {"CONDITIONING": "CONDITIONING"}, (text,), title,
    )  # fmt: skip


def drawn(parts: Mapping[str, Part], note: str, workflow_id: str) -> dict:
    """The workflow of some parts, in the page's format 0.4, with a note above the part *model*."""
    workflow = {
        "id": workflow_id, "revision": 0, "last_node_id": 0, "last_link_id": 0, "nodes": [],
        "links": [], "groups": [], "config": {}, "extra": {}, "version": 0.4,
    }  # fmt: skip
    ids = Ids(workflow)
    made = {name: _node(part, ids.next_node(), parts) for name, part in parts.items()}
    workflow["nodes"] += made.values()
    for name, part in parts.items():
        for entry, (source, output) in part.inputs.items():
            outputs = parts[source].outputs
            origin, number = made[source]["id"], list(outputs).index(output)
            connect(workflow, origin, number, made[name], entry, outputs[output], ids)
    add_note(workflow, made["model"], note, ids)
    return finished(workflow, ids)


def _node(part: Part, number: int, parts: Mapping[str, Part]) -> dict:
    left, top, width, height = part.box
    if part.kind == "GPH_Cache":
        node = cache_node(number, [left, top], None)
        # Nodes 2.0 would show an unused text.
        node["widgets_values"][:2] = part.values or ("Custom", "")
        return node
    inputs = ((n, parts[source].outputs[output]) for n, (source, output) in part.inputs.items())
    size, outputs = (width, height), part.outputs.items()
    node = node_of(part.kind, number, (left, top), size, inputs, outputs, part.values)
    return node | ({"title": part.title} if part.title else {})
