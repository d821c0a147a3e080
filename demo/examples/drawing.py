"""Draw example workflows as columns of nodes. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[2] / "example_workflows"
TRY = "01_Try_It_on_the_Demo_Model"  # its cache node is the pattern of all others
LINK = ("id", "origin_id", "origin_slot", "target_id", "target_slot", "type")
# What the page's colour menu calls so: in its own yellow notes, Nodes 2.0 has dim texts.
BLUE = {"color": "#223", "bgcolor": "#335"}
LEFT, TOP = 40, 120
TITLE = 30  # height of a node's title, which is above its position
GAPS = 30, 40  # between columns, and below a node, where Nodes 2.0 has buttons
# Heights that both renderers of the page need: a lower node would grow over the next one.
HEIGHTS = {
    "BasicScheduler": 120, "CLIPLoader": 120, "CLIPTextEncode": 130, "CreateVideo": 90,
    "DualCLIPLoader": 150, "EmptyFlux2LatentImage": 120, "EmptyHunyuanLatentVideo": 150,
    "EmptyHunyuanVideo15Latent": 150, "EmptyLatentImage": 120, "EmptySD3LatentImage": 120,
    "Flux2Scheduler": 120, "GPH_Cache": 400, "GPH_DemoModel": 130, "GPH_DemoPrompt": 130,
    "KSampler": 290, "KSamplerAdvanced": 360, "LoadImage": 340, "RandomNoise": 90,
    "SamplerCustom": 260, "SamplerCustomAdvanced": 120, "TextEncodeQwenImageEditPlus": 180,
    "UNETLoader": 90, "VAELoader": 60,
}  # fmt: skip


class Part(NamedTuple):
    """A node: the sources of its inputs, its outputs, the values of its widgets, its height.

    Args:
        inputs: by name, the key of another part and its output's name.
        outputs: types by name.
        height: where it is not the one in ``HEIGHTS``.
        is_folded: whether only its title shows, as nobody has to touch it.
        models: files that it loads, as ComfyUI offers to download them.
    """

    kind: str
    inputs: Mapping[str, tuple[str, str]] = {}
    outputs: Mapping[str, str] = {}
    values: Sequence = ()
    title: str | None = None
    height: int | None = None
    is_folded: bool = False
    models: Sequence[Mapping[str, str]] = ()


class Column(NamedTuple):
    """Parts below each other, by their keys."""

    width: int
    parts: Mapping[str, Part]


MODEL = Part("GPH_DemoModel", {}, {k: k for k in ("MODEL", "VAE", "CLIP")}, ("image",))


def note(text: str, height: int) -> Part:
    """What the workflow shows, and what to do."""
    return Part("MarkdownNote", values=(text,), title="Golden Path", height=height)


def folded(kind: str, inputs: Mapping, outputs: Mapping, *values, title: str | None = None) -> Part:
    """A node of which only the title shows."""
    return Part(kind, inputs, outputs, values, title, is_folded=True)


def sampling(steps: int) -> dict[str, Part]:
    """Nodes that sample the part *model*: Euler on simple noise levels, one image of it."""
    return {
        "sigmas": Part(
            "BasicScheduler", {"model": ("model", "MODEL")}, {"SIGMAS": "SIGMAS"},
            ("simple", steps, 1.0),
        ),
        "latent": folded("EmptyLatentImage", {}, {"LATENT": "LATENT"}, 64, 64, 1),
        "sampler": folded("KSamplerSelect", {}, {"SAMPLER": "SAMPLER"}, "euler"),
    }  # fmt: skip


def examples(title: str, height: int, prompts: Sequence[str], seed: int) -> Part:
    """Scoring Examples with a seed for each prompt, of the part *model*."""
    seeds = ", ".join(str(seed + n) for n in range(len(prompts)))
    return Part(
        "GPH_ScoringExamples", {"clip": ("model", "CLIP")}, {"examples": "GPH_EXAMPLES"},
        ("\n".join(prompts), seeds, "", 0.0), title, height,
    )  # fmt: skip


def prompt(title: str, text: str, clip: str = "model") -> Part:
    """A prompt."""
    outputs = {"CONDITIONING": "CONDITIONING"}
    return Part("CLIPTextEncode", {"clip": (clip, "CLIP")}, outputs, (text,), title)


def policy(kind: str) -> Part:
    """A policy with its options as they are."""
    return folded(
        "GPH_PolicySelector", {}, {"policy": "GPH_POLICY"},
        kind, 1, 0.5, 4, "", "recursive", 0.0, 0, "none", title=f"Policy: {kind}",
    )  # fmt: skip


def drawn(columns: Sequence[Column], workflow_id: str) -> dict:
    """The workflow of some columns, in the page's format 0.4."""
    parts = {key: part for column in columns for key, part in column.parts.items()}
    boxed = zip(parts.items(), _boxes(columns), strict=True)
    nodes = {
        key: _node(part, number, box, parts) for number, ((key, part), box) in enumerate(boxed, 1)
    }
    links = []
    for key, part in parts.items():
        for name, source in part.inputs.items():
            links.append(_link(len(links) + 1, nodes[source[0]], source[1], nodes[key], name))
    return {
        "id": workflow_id, "revision": 0, "last_node_id": len(nodes), "last_link_id": len(links),
        "nodes": list(nodes.values()), "links": links, "groups": [], "config": {}, "extra": {},
        "version": 0.4,
    }  # fmt: skip


def _boxes(columns: Sequence[Column]) -> Iterator[tuple[int, int, int, int]]:
    """Left, top, width and height of each part."""
    left = LEFT
    for column in columns:
        top = TOP
        for part in column.parts.values():
            height = part.height or HEIGHTS.get(part.kind, 60)
            yield left, top, column.width, height
            top += (0 if part.is_folded else height) + TITLE + GAPS[1]
        left += column.width + GAPS[0]


def _link(number: int, origin: dict, output: str, target: dict, name: str) -> list:
    """A link in the order of ``LINK``, after telling both ends of it."""
    start = [entry["name"] for entry in origin["outputs"]].index(output)
    end = [entry["name"] for entry in target["inputs"]].index(name)
    origin["outputs"][start]["links"].append(number)
    target["inputs"][end]["link"] = number
    kind = origin["outputs"][start]["type"]
    return [number, origin["id"], start, target["id"], end, kind]


def _node(part: Part, number: int, box: Sequence[int], parts: Mapping[str, Part]) -> dict:
    left, top, width, height = box
    place = {"id": number, "pos": [left, top], "size": [width, height]}
    if part.kind == "GPH_Cache":
        return _cache(part) | place
    node = {
        "id": number, "type": part.kind, **({"title": part.title} if part.title else {}),
        **place, "flags": {"collapsed": True} if part.is_folded else {}, "order": 0, "mode": 0,
        "inputs": [
            {"name": name, "type": parts[source].outputs[output], "link": None}
            for name, (source, output) in part.inputs.items()
        ],
        "outputs": [{"name": name, "type": of, "links": []} for name, of in part.outputs.items()],
        "properties": {"Node name for S&R": part.kind}, "widgets_values": list(part.values),
    }  # fmt: skip
    if part.models:
        node["properties"]["models"] = list(part.models)
    return node | (BLUE if part.kind == "MarkdownNote" else {})


def _cache(part: Part) -> dict:
    """The cache node of the bundled demo workflow, elsewhere."""
    node = deepcopy(_cache_pattern())
    for entry in node["inputs"]:
        entry["link"] = None
    node["outputs"][0]["links"] = []
    node["widgets_values"][: len(part.values)] = part.values
    return node | ({"title": part.title} if part.title else {})


def cache_values() -> list:
    """Values of its widgets there."""
    return _cache_pattern()["widgets_values"]


def _cache_pattern() -> dict:
    (found,) = (n for n in read(FOLDER / f"{TRY}.json")["nodes"] if n["type"] == "GPH_Cache")
    return found


def read(file: Path) -> dict:
    """A stored workflow."""
    return json.loads(file.read_text("utf-8"))


def as_dicts(workflow: dict) -> dict:
    """Turn the links, which are stored as lists, into dicts."""
    workflow["links"] = [dict(zip(LINK, link, strict=True)) for link in workflow["links"]]
    return workflow
