"""Build the example workflows: ComfyUI's templates with *Golden Path Cache* before the sampler.

Writes ``example_workflows/*.json`` from the package ``comfyui-workflow-templates-json``, those of
the demo model without it, except ``1_Try_Golden_Path_Cache.json``, whose cache node is the pattern
of all others. Run it with ``python dev.py examples``. Standard library only.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import experts, inside, search, video
from .edits import (
    FOLDER,
    TRY,
    Ids,
    add_note,
    as_dicts,
    connect,
    copy_of,
    finished,
    graphs,
    insert,
    nodes,
    preview,
    promote_speed,
    read,
    remove,
    replace,
)

COMPARE = "Compare_Full_and_Cached"
# The version of comfyui-workflow-templates that the files are made from (ComfyUI 0.30.0 pins it).
TEMPLATES = "0.11.27"


class ExampleWorkflow(NamedTuple):
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
    moved: Mapping[int, int] = {}  # node: how far down, if the template has it badly


TURBO = "Leave *enable_turbo_mode* off: so few steps leave nothing to cache. "
SHORT = "With so few steps *Quality* is the speed to begin with. "
EXAMPLES = (
    ExampleWorkflow(
        "FLUX.1-dev_Golden_Path", "flux_dev_full_text_to_image", "Quality", 20, 8,
        SHORT + "With 50 steps *Balanced* takes the path published for FLUX.1-dev.",
        before=(50,),
    ),
    ExampleWorkflow(
        "Qwen-Image_Golden_Path", "image_qwen_image", "Balanced", 50, 13,
        "The template's 20 steps became 50, the model's original setting. " + TURBO,
        before=(3,), values={84: [50, "fixed"]},
    ),
    ExampleWorkflow(
        "Qwen-Image-Edit_Golden_Path", "image_qwen_image_edit_2511", "Balanced", 40, 10,
        "Choose your own pictures in the two *Load Image* nodes. " + TURBO,
        before=(169,), moved={157: -2190},
    ),
    ExampleWorkflow(
        "Wan_2.1_T2V_Golden_Path", "text_to_video_wan", "Balanced", 30, 8,
        "The 14B model works the same way and gains more seconds.",
        before=(3,), moved={50: 50},
    ),
    ExampleWorkflow(
        "Wan_2.2_14B_Two_Experts_Golden_Path", "video_wan2_2_14B_t2v", "Balanced", 10, 4,
        "Each expert has a node of its own and takes 10 of the 20 steps. " + TURBO,
        before=(81, 78), parts=("high noise", "low noise"),
    ),
    ExampleWorkflow(
        "HunyuanVideo_1.5_Golden_Path", "video_hunyuan_video_1.5_720p_t2v", "Quality", 20, 8,
        SHORT + "It takes the place of the template's bypassed EasyCache node.",
        instead_of=(105, 121),
    ),
    ExampleWorkflow(
        "Z-Image_Golden_Path", "image_z_image", "Quality", 25, 11,
        SHORT + "Z-Image-Turbo takes 8 steps and gains little.",
        before=(69,),
    ),
    ExampleWorkflow(
        "FLUX.2_Golden_Path", "image_flux2_text_to_image", "Quality", 20, 8, SHORT + TURBO,
        before=(22,),
    ),
)  # fmt: skip


def build(example: ExampleWorkflow) -> dict:
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
    everywhere = {n: node for g in graphs(workflow) for n, node in nodes(g).items()}
    for number, values in example.values.items():
        everywhere[number]["widgets_values"] = values
    for number, distance in example.moved.items():
        everywhere[number]["pos"][1] += distance
    add_note(workflow, host or caches[0], note_text(example, host and graph["name"]), ids)
    return finished(workflow, ids)


def note_text(example: ExampleWorkflow, subgraph: str | None) -> str:
    several = len(example.parts) > 1
    added = "two yellow nodes" if several else "one yellow node"
    inside = f" inside the subgraph *{subgraph}*, whose node shows the speed" if subgraph else ""
    faster = example.steps / example.full
    title = title_of(example.template)
    return (
        f"## Golden Path Cache\n\nAdded to ComfyUI's template *{title}*: {added}{inside}. "
        f"*{example.speed}* computes {example.full} of {example.steps} steps "
        f"{'of each expert ' if several else ''}in full and predicts the others, so sampling gets "
        f"up to {faster:.1f}× faster.\n\n{example.hint.strip()}\n\n"
        "Bypass the node (Ctrl+B) to compare: that image, with the same seed, is exactly the one "
        "without it."
    )


# --- the demo's comparison ------------------------------------------------------------------------


def build_comparison() -> dict:
    """The bundled workflow with four images, each of which is also shown alone."""
    workflow = as_dicts(read(FOLDER / f"{TRY}.json"))
    of_type = {node["type"]: node for node in workflow["nodes"]}
    compare, enlarge = of_type["GPH_QualityCompare"], of_type["ImageScale"]
    gone = [of_type[kind]["id"] for kind in ("SaveImage", "MarkdownNote")]
    gone += [compare["id"], enlarge["id"]]
    remove(workflow, gone)
    workflow["links"] = [k for k in workflow["links"] if k["target_id"] not in gone]
    of_type["EmptyLatentImage"]["widgets_values"][2] = 4
    ids = Ids(workflow)
    cached, full = (n for n in workflow["nodes"] if n["type"] == "VAEDecode")
    views = [preview("Full", [1680, 300], ids), preview("Cached", [2080, 300], ids)]
    add_note(workflow, of_type["GPH_DemoModel"], COMPARISON_NOTE, ids)
    compare = copy_of(workflow, compare, "Quality Compare", ids)
    for source, entry in ((full, "reference"), (cached, "test")):
        connect(workflow, source["id"], 0, compare, entry, "IMAGE", ids)
    for source, view in zip((full, cached), views, strict=True):
        larger = copy_of(workflow, enlarge, "Enlarge", ids)
        larger["pos"] = [view["pos"][0], 120]
        connect(workflow, source["id"], 0, larger, "image", "IMAGE", ids)
        connect(workflow, larger["id"], 0, view, "images", "IMAGE", ids)
    workflow["nodes"] += views
    return finished(workflow, ids)


COMPARISON_NOTE = (
    "## Full and cached\n\n"
    "Two samplers with the same seed, prompt and steps make four images each: one with the model "
    "itself, the other with *Golden Path Cache*.\n\n"
    "*Quality Compare* shows both under a line that you move; the arrows below it, or Page Up and "
    "Page Down, go through the four images. Change the speed and run the workflow again: only the "
    "cached images are sampled anew.\n\n"
    "The demo model comes with this extension and runs on any CPU in seconds. Replace the model, "
    "the prompts and the latent with yours to compare there, and remove *Enlarge*."
)


# --- files ----------------------------------------------------------------------------------------


def load(template: str) -> dict:
    return as_dicts(packaged(template))


def title_of(template: str) -> str:
    """Title of a template in the page's list."""
    listed = [entry for category in packaged("index") for entry in category["templates"]]
    return next(entry["title"] for entry in listed if entry["name"] == template)


def packaged(name: str) -> Any:
    package = importlib.resources.files("comfyui_workflow_templates_json")
    return json.loads((package / "templates" / f"{name}.json").read_text("utf-8"))


def text_of(workflow: dict) -> str:
    return json.dumps(workflow, ensure_ascii=False, indent=1) + "\n"


def build_all() -> dict[str, dict]:
    """Every built workflow by its name."""
    drawn = {one.NAME: one.build() for one in (search, video, experts)}
    drawn |= {example.name: example.build() for example in inside.EXAMPLES}
    of_demo = {COMPARE: build_comparison(), **drawn}
    return {example.name: build(example) for example in EXAMPLES} | of_demo
