"""Build the example workflows: ComfyUI's templates with *Golden Path Cache* before the sampler.

Writes ``example_workflows/*.json`` from the package ``comfyui-workflow-templates-json``, except
``Try_Golden_Path_Cache.json``, whose cache node is the pattern of all others. Run it with
``python dev.py examples``. Standard library only.
"""

from __future__ import annotations

import importlib.resources
import json
import uuid
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "example_workflows"
TRY = "Try_Golden_Path_Cache"
COMPARE = "Compare_Full_and_Cached"
# The version of comfyui-workflow-templates that the files are made from (ComfyUI 0.30.0 pins it).
TEMPLATES = "0.11.27"
LINK = ("id", "origin_id", "origin_slot", "target_id", "target_slot", "type")
CACHE_SIZE, NOTE_SIZE, GAP = (360, 380), (520, 240), 50
YELLOW = {"color": "#432", "bgcolor": "#653"}  # what the page's colour menu calls so
GRAPH_INPUT = -10  # where a subgraph's own inputs come from


class Example(NamedTuple):
    """A template and what is changed in it."""

    name: str
    template: str
    speed: str
    steps: int  # of one sampler
    full: int  # how many of them stay full
    hint: str
    before: tuple[int, ...] = ()  # nodes (samplers or guiders) whose model is to be cached
    instead_of: tuple[int, ...] = ()  # or a bypassed node to take the place of, and notes about it
    parts: tuple[str, ...] = ("",)  # what tells several cache nodes apart
    values: Mapping[int, list] = {}  # node: new values of its widgets
    down: Mapping[int, int] = {}  # node: how far it must move, since one above it grew


TURBO = "Leave *enable_turbo_mode* off: so few steps leave nothing to cache. "
SHORT = "With so few steps *Quality* is the speed to begin with. "
EXAMPLES = (
    Example(
        "FLUX.1-dev_Golden_Path", "flux_dev_full_text_to_image", "Quality", 20, 8,
        SHORT + "With 50 steps *Balanced* takes the path published for FLUX.1-dev.",
        before=(50,),
    ),
    Example(
        "Qwen-Image_Golden_Path", "image_qwen_image", "Balanced", 50, 13,
        "The template's 20 steps became 50, the model's original setting. " + TURBO,
        before=(3,), values={84: [50, "fixed"]},
    ),
    Example(
        "Qwen-Image-Edit_Golden_Path", "image_qwen_image_edit_2511", "Balanced", 40, 10,
        "Choose your own pictures in the two *Load Image* nodes. " + TURBO,
        before=(169,),
    ),
    Example(
        "Wan_2.1_T2V_Golden_Path", "text_to_video_wan", "Balanced", 30, 8,
        "The 14B model works the same way and gains more seconds.",
        before=(3,), down={50: 50},
    ),
    Example(
        "Wan_2.2_14B_Two_Experts_Golden_Path", "video_wan2_2_14B_t2v", "Balanced", 10, 4,
        "Each expert has a node of its own and takes 10 of the 20 steps. " + TURBO,
        before=(81, 78), parts=("high noise", "low noise"),
    ),
    Example(
        "HunyuanVideo_1.5_Golden_Path", "video_hunyuan_video_1.5_720p_t2v", "Quality", 20, 8,
        SHORT + "It takes the place of the template's bypassed EasyCache node.",
        instead_of=(105, 121),
    ),
    Example(
        "Z-Image_Golden_Path", "image_z_image", "Quality", 25, 11,
        SHORT + "Z-Image-Turbo takes 8 steps and gains little.",
        before=(69,),
    ),
    Example(
        "FLUX.2_Golden_Path", "image_flux2_text_to_image", "Quality", 20, 8, SHORT + TURBO,
        before=(22,),
    ),
)  # fmt: skip


def build(example: Example) -> dict:
    """The template with the cache, in the page's format 0.4."""
    workflow = load(example.template)
    ids = Ids(workflow)
    place = (example.before or example.instead_of)[0]
    graph = next(g for g in graphs(workflow) if place in nodes(g))
    host = next((n for n in workflow["nodes"] if n["type"] == graph.get("id")), None)
    if example.instead_of:
        old, *notes = example.instead_of
        caches = [replace(graph, old, ids)]
        remove(graph, notes)
    else:
        caches = [insert(graph, sampler, ids) for sampler in example.before]
    for cache, part in zip(caches, example.parts, strict=True):
        cache["widgets_values"][0] = example.speed
        if part:
            cache["title"] = f"Golden Path Cache ({part})"
        if host:
            promote_speed(graph, host, cache, f"golden_path_speed {part}".strip(), ids)
    for node, values in example.values.items():
        nodes(graph)[node]["widgets_values"] = values
    for node, distance in example.down.items():
        nodes(graph)[node]["pos"][1] += distance
    add_note(workflow, host or caches[0], note_text(example, host and graph["name"]), ids)
    return finished(workflow, ids)


def note_text(example: Example, subgraph: str | None) -> str:
    several = len(example.parts) > 1
    nodes = "two yellow nodes" if several else "one yellow node"
    inside = f" inside the subgraph *{subgraph}*, whose node shows the speed" if subgraph else ""
    title = example.template.replace("_", " ")
    faster = example.steps / example.full
    return (
        f"## Golden Path Cache\n\nAdded to ComfyUI's template *{title}*: {nodes}{inside}. "
        f"*{example.speed}* computes {example.full} of {example.steps} steps "
        f"{'of each expert ' if several else ''}in full and predicts the others, so sampling gets "
        f"up to {faster:.1f}× faster.\n\n{example.hint.strip()}\n\n"
        "Bypass the node (Ctrl+B) to compare: that image, with the same seed, is exactly the one "
        "without it."
    )


# --- edits of a graph -----------------------------------------------------------------------------


class Ids:
    """Numbers that no node and no link of a workflow has."""

    def __init__(self, workflow: dict) -> None:
        self.node = max(n for g in graphs(workflow) for n in nodes(g))
        self.link = max(link["id"] for g in graphs(workflow) for link in g["links"])

    def next_node(self) -> int:
        self.node += 1
        return self.node

    def next_link(self) -> int:
        self.link += 1
        return self.link


def insert(graph: dict, sampler_id: int, ids: Ids) -> dict:
    """Put a cache node into the link to a sampler; what stands right of it makes room."""
    sampler = nodes(graph)[sampler_id]
    (link,) = (k for k in graph["links"] if k["id"] == slot(sampler, "model")["link"])
    cache = cache_node(ids.next_node(), list(sampler["pos"]), link["id"])
    make_room(graph, sampler, keep=link["origin_id"])
    onward = connect(graph, cache["id"], 0, sampler, "model", "MODEL", ids)
    link["target_id"], link["target_slot"] = cache["id"], 0
    cache["outputs"][0]["links"] = [onward]
    graph["nodes"].append(cache)
    return cache


def replace(graph: dict, node_id: int, ids: Ids) -> dict:
    """Put a cache node where a node with one MODEL input and output is."""
    old = nodes(graph)[node_id]
    x, y = old["pos"]
    cache = cache_node(ids.next_node(), [x, y + old["size"][1] - CACHE_SIZE[1]], None)
    cache["inputs"][0]["link"] = old["inputs"][0]["link"]
    cache["outputs"][0]["links"] = old["outputs"][0]["links"]
    for link in graph["links"]:
        for end in ("origin_id", "target_id"):
            link[end] = cache["id"] if link[end] == node_id else link[end]
    remove(graph, [node_id])
    graph["nodes"].append(cache)
    return cache


def remove(graph: dict, unlinked) -> None:
    graph["nodes"] = [node for node in graph["nodes"] if node["id"] not in unlinked]


def make_room(graph: dict, sampler: dict, keep: int) -> None:
    """Move all that begins right of a sampler's left edge, and its group, by a node's width."""
    left, top = sampler["pos"]
    step = CACHE_SIZE[0] + GAP
    for node in graph["nodes"]:
        if node["pos"][0] >= left and node["id"] != keep:
            node["pos"] = [node["pos"][0] + step, node["pos"][1]]
    boxes = [group["bounding"] for group in graph.get("groups", [])]
    boxes += [graph["outputNode"]["bounding"]] if "outputNode" in graph else []
    for box in boxes:
        x, y, width, height = box
        holds_sampler = x <= left < x + width and y <= top < y + height
        if x >= left or holds_sampler:
            box[0] += step


def connect(
    graph: dict, origin: int, origin_slot: int, target: dict, name: str, kind: str, ids: Ids
) -> int:
    number = ids.next_link()
    target_slot = target["inputs"].index(slot(target, name))
    target["inputs"][target_slot]["link"] = number
    values = (number, origin, origin_slot, target["id"], target_slot, kind)
    graph["links"].append(dict(zip(LINK, values, strict=True)))
    return number


def promote_speed(graph: dict, host: dict, cache: dict, label: str, ids: Ids) -> None:
    """Show the cache's speed on the subgraph's own node."""
    taken = {entry["name"] for entry in graph["inputs"]}
    name = next(n for n in ("speed", "speed_1") if n not in taken)
    link = connect(graph, GRAPH_INPUT, len(graph["inputs"]), cache, "speed", "COMBO", ids)
    x, y = graph["inputs"][-1]["pos"]
    graph["inputs"].append(
        {
            "id": str(uuid.uuid5(uuid.UUID(graph["id"]), name)),
            "name": name,
            "type": "COMBO",
            "linkIds": [link],
            "label": label,
            "pos": [x, y + 20],
        }
    )
    host["properties"]["proxyWidgets"].append([str(cache["id"]), "speed"])


def add_note(workflow: dict, below: dict, text: str, ids: Ids) -> None:
    """A note above everything, in the column of a node."""
    tops = [node["pos"][1] - 30 for node in workflow["nodes"]]
    tops += [group["bounding"][1] for group in workflow["groups"]]
    workflow["nodes"].append(
        {
            "id": ids.next_node(),
            "type": "MarkdownNote",
            "title": "Golden Path",
            "pos": [below["pos"][0], min(tops) - NOTE_SIZE[1] - GAP],
            "size": list(NOTE_SIZE),
            "flags": {},
            "order": 0,
            "mode": 0,
            "inputs": [],
            "outputs": [],
            "properties": {},
            "widgets_values": [text],
            **YELLOW,
        }
    )


def cache_node(number: int, position: list, link: int | None) -> dict:
    """The cache node of the bundled demo workflow, elsewhere."""
    (pattern,) = (n for n in read(FOLDER / f"{TRY}.json")["nodes"] if n["type"] == "GPH_Cache")
    node = deepcopy(pattern) | {"id": number, "pos": position, "size": list(CACHE_SIZE), **YELLOW}
    for entry in node["inputs"]:
        entry["link"] = None
    slot(node, "model")["link"] = link
    return node


# --- the demo's comparison ------------------------------------------------------------------------


def build_comparison() -> dict:
    """The bundled demo workflow with a second sampler that has the uncached model."""
    workflow = as_dicts(read(FOLDER / f"{TRY}.json"))
    ids = Ids(workflow)
    of_type = {node["type"]: node for node in workflow["nodes"]}  # the last of each type
    model, sampler, decoder = (of_type[t] for t in ("GPH_DemoModel", "KSampler", "VAEDecode"))
    save = of_type["SaveImage"]
    sampler["title"], decoder["title"] = "KSampler (cached)", "VAE Decode (cached)"
    full = copy_of(workflow, sampler, "KSampler (full)", ids)
    decoded = copy_of(workflow, decoder, "VAE Decode (full)", ids)
    remove(workflow, [save["id"]])
    workflow["links"] = [k for k in workflow["links"] if k["target_id"] != save["id"]]
    connect(workflow, model["id"], 0, full, "model", "MODEL", ids)
    for name in ("positive", "negative", "latent_image"):
        source = next(k for k in workflow["links"] if k["id"] == slot(sampler, name)["link"])
        origin, kind = (source["origin_id"], source["origin_slot"]), source["type"]
        connect(workflow, *origin, full, name, kind, ids)
    connect(workflow, full["id"], 0, decoded, "samples", "LATENT", ids)
    connect(workflow, model["id"], 1, decoded, "vae", "VAE", ids)
    views = [
        preview("Full", [1110, 120], ids),
        preview("Cached", [1510, 120], ids),
    ]
    workflow["nodes"] += views
    for source, view in zip((decoded, decoder), views, strict=True):
        connect(workflow, source["id"], 0, view, "images", "IMAGE", ids)
    full["pos"], decoded["pos"] = [760, 120], [760, 460]
    sampler["pos"], decoder["pos"] = [760, 580], [760, 920]
    add_note(workflow, model, COMPARISON_NOTE, ids)
    return finished(workflow, ids)


COMPARISON_NOTE = (
    "## Full and cached\n\n"
    "Two samplers with the same seed, prompt and steps: the upper one has the model itself, the "
    "lower one the model with *Golden Path Cache*.\n\n"
    "*Balanced* computes 13 of 50 steps in full. Change the speed or write a schedule and queue "
    "again: only the cached image is sampled anew.\n\n"
    "The demo model comes with this extension and runs on any CPU in seconds. Exchange the model, "
    "the prompts and the latent for yours to compare there."
)


def copy_of(workflow: dict, node: dict, title: str, ids: Ids) -> dict:
    copied = deepcopy(node) | {"id": ids.next_node(), "title": title}
    for entry in copied["inputs"]:
        entry["link"] = None
    for entry in copied["outputs"]:
        entry["links"] = []
    workflow["nodes"].append(copied)
    return copied


def preview(title: str, position: list, ids: Ids) -> dict:
    return {
        "id": ids.next_node(),
        "type": "PreviewImage",
        "title": title,
        "pos": position,
        "size": [360, 420],
        "flags": {},
        "order": 0,
        "mode": 0,
        "inputs": [{"name": "images", "type": "IMAGE", "link": None}],
        "outputs": [],
        "properties": {"Node name for S&R": "PreviewImage"},
        "widgets_values": [],
    }


# --- files ----------------------------------------------------------------------------------------


def graphs(workflow: dict) -> Iterator[dict]:
    """The workflow and its subgraphs, which have the same keys."""
    yield workflow
    yield from workflow.get("definitions", {}).get("subgraphs", [])


def nodes(graph: dict) -> dict[int, dict]:
    return {node["id"]: node for node in graph["nodes"]}


def slot(node: dict, name: str) -> dict:
    return next(entry for entry in node["inputs"] if entry["name"] == name)


def load(template: str) -> dict:
    package = importlib.resources.files("comfyui_workflow_templates_json")
    return as_dicts(json.loads((package / "templates" / f"{template}.json").read_text("utf-8")))


def as_dicts(workflow: dict) -> dict:
    """Links outside of subgraphs are stored as lists."""
    workflow["links"] = [dict(zip(LINK, link, strict=True)) for link in workflow["links"]]
    return workflow


def finished(workflow: dict, ids: Ids) -> dict:
    """The stored form, without the view of whoever saved the template last."""
    for graph in graphs(workflow):
        for node in graph["nodes"]:
            for number, entry in enumerate(node["outputs"]):
                entry["links"] = [
                    link["id"]
                    for link in graph["links"]
                    if (link["origin_id"], link["origin_slot"]) == (node["id"], number)
                ]
        extra = graph.get("extra", {})
        graph["extra"] = {k: extra[k] for k in extra if k == "workflowRendererVersion"}
        if "state" in graph:
            graph["state"] |= {"lastNodeId": ids.node, "lastLinkId": ids.link}
    workflow["last_node_id"], workflow["last_link_id"] = ids.node, ids.link
    workflow["links"] = [[link[key] for key in LINK] for link in workflow["links"]]
    return workflow


def read(file: Path) -> dict:
    return json.loads(file.read_text("utf-8"))


def text_of(workflow: dict) -> str:
    return json.dumps(workflow, ensure_ascii=False, indent=1) + "\n"


def build_all() -> dict[str, dict]:
    """Every built workflow by its name."""
    return {example.name: build(example) for example in EXAMPLES} | {COMPARE: build_comparison()}


if __name__ == "__main__":
    for name, workflow in build_all().items():
        (FOLDER / f"{name}.json").write_text(text_of(workflow), "utf-8", newline="\n")
        print(f"wrote {name}.json")
