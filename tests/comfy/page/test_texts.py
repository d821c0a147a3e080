"""Every node has a help page and search words, and speaks Chinese; nothing is left over."""

import asyncio
import json
import re

import pytest
from golden_path_pack.nodes import GoldenPathExtension

import dev

SCHEMAS = {
    schema.node_id: schema
    for schema in (
        node.define_schema() for node in asyncio.run(GoldenPathExtension().get_node_list())
    )
}
CHINESE = dev.ROOT / "locales" / "zh"
HELP = dev.ROOT / "web" / "docs"


def translation():
    return json.loads((CHINESE / "nodeDefs.json").read_text("utf-8"))


@pytest.fixture(params=SCHEMAS.values(), ids=SCHEMAS.keys())
def schema(request):
    return request.param


def texts(slot):
    """The keys that a slot's translation must have."""
    return {"name", "tooltip"} if slot.tooltip else {"name"}


def test_no_other_node_is_translated():
    assert set(translation()) == set(SCHEMAS)


def test_the_translation_has_just_the_texts_of_the_schema(schema):
    translated = translation()[schema.node_id]
    assert translated["display_name"] != schema.display_name
    assert translated["description"] != schema.description
    inputs = {name: set(entry) for name, entry in translated.get("inputs", {}).items()}
    assert inputs == {slot.id: texts(slot) for slot in schema.inputs}
    outputs = {name: set(entry) for name, entry in translated["outputs"].items()}
    assert outputs == {str(n): texts(slot) for n, slot in enumerate(schema.outputs)}


@pytest.mark.parametrize("file", sorted(CHINESE.glob("*.json")), ids=lambda file: file.name)
def test_a_translation_has_no_sign_that_the_page_takes_for_a_command(file):
    for text in strings(json.loads(file.read_text("utf-8"))):
        assert text.strip()
        assert not re.search(r"[{}|@]", text), text


def strings(tree):
    """All texts of a JSON tree."""
    if isinstance(tree, str):
        return [tree]
    return [text for branch in tree.values() for text in strings(branch)]


def test_what_most_users_need_is_in_front():
    front = {s.display_name for s in SCHEMAS.values() if s.category == "Golden Path"}
    assert front == {
        "Golden Path Cache", "Schedule Editor", "Policy Selector", "Quality Compare",
        "Schedule Search", "Scoring Examples", "Golden Path Library", "Save Golden Path",
    }  # fmt: skip


def test_the_category_is_translated(schema):
    categories = json.loads((CHINESE / "main.json").read_text("utf-8"))["nodeCategories"]
    assert set(schema.category.split("/")) <= set(categories)


@pytest.mark.parametrize("page", ["{}.md", "{}/zh.md"])
def test_every_node_has_a_help_page_that_names_its_inputs(schema, page):
    text = (HELP / page.format(schema.node_id)).read_text("utf-8")
    names = translation()[schema.node_id] if "zh" in page else None
    title = names["display_name"] if names else schema.display_name
    assert text.startswith(f"# {title}\n")
    for slot in schema.inputs:
        assert slot.id in text


def test_no_help_page_is_left_over():
    pages = {path.relative_to(HELP).as_posix() for path in HELP.rglob("*.md")}
    assert pages == {f"{name}.md" for name in SCHEMAS} | {f"{name}/zh.md" for name in SCHEMAS}


@pytest.mark.parametrize(
    "node",
    [
        "ScheduleSearch",
        "Calibrate",
        "CalibrateRatio",
        "RecordRuns",
        "PlanSchedule",
        "MethodShootout",
        "RecordTrajectory",
        "TrajectoryProfile",
        "ErrorDecomposition",
        "PropagationGain",
        "SemanticMetrics",
    ],
)
def test_a_tooltip_does_not_begin_with_the_name_of_its_input(node):
    for slot in SCHEMAS[f"GPH_{node}"].inputs:
        first = re.sub(r"^(your|the|an?) ", "", (slot.tooltip or "").lower())
        assert not first.startswith(slot.id.rstrip("s")), slot.id


# What people who want such a node search for, and which node they should find.
SEARCHES = {
    "teacache": "GPH_Cache",
    "easycache": "GPH_Cache",
    "speed up": "GPH_Cache",
    "faster": "GPH_Cache",
    "cache": "GPH_Cache",
    "steps": "GPH_Cache",
    "taylorseer": "GPH_PolicySelector",
    "dicache": "GPH_PolicySelector",
    "preset": "GPH_GoldenPathLibrary",
    "schedule": "GPH_GoldenPathLibrary",
    "share": "GPH_SaveGoldenPath",
    "psnr": "GPH_QualityCompare",
    "lpips": "GPH_QualityCompare",
    "difference": "GPH_QualityCompare",
    "benchmark": "GPH_CompareRun",
    "clip score": "GPH_SemanticMetrics",
    "imagereward": "GPH_SemanticMetrics",
    "calibrat": "GPH_ScoringExamples",
    "dynamic": "GPH_AdaptiveCache",
    "calibrate": "GPH_Calibrate",
    "coefficients": "GPH_Calibrate",
    "rel_l1_thresh": "GPH_CalibrateRatio",
    "optimize": "GPH_ScheduleSearch",
    "tune": "GPH_ScheduleSearch",
    "record": "GPH_RecordRuns",
    "frequency": "GPH_MostFrequentSchedule",
    "dpcache": "GPH_PlanSchedule",
    "compare methods": "GPH_MethodShootout",
    "seacache": "GPH_MethodShootout",
    "latents": "GPH_RecordTrajectory",
    "curvature": "GPH_TrajectoryProfile",
    "drift": "GPH_ErrorDecomposition",
    "sensitivity": "GPH_PropagationGain",
    "margin": "GPH_Coverage",
    "entropy": "GPH_ScheduleStatistics",
    "interaction": "GPH_ScheduleStatistics",
    "toy model": "GPH_DemoModel",
    "text encode": "GPH_DemoPrompt",
}


@pytest.mark.parametrize(("words", "node"), SEARCHES.items())
def test_a_search_finds_the_node(words, node):
    schema = SCHEMAS[node]
    texts = [schema.display_name, *schema.search_aliases]
    assert any(words in text.lower() for text in texts)


def test_every_node_has_search_words(schema):
    assert len(schema.search_aliases) >= 3
