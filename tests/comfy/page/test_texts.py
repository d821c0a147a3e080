"""Every node has a help page and search words, and speaks Chinese; nothing is left over."""

import asyncio
import json
import re

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


def texts(slot):
    """The keys that a slot's translation must have."""
    return {"name", "tooltip"} if slot.tooltip else {"name"}


def test_no_other_node_is_translated():
    assert set(translation()) == set(SCHEMAS)


def test_the_translation_has_just_the_texts_of_the_schema():
    for name, translated in translation().items():
        schema = SCHEMAS[name]
        assert translated["display_name"] != schema.display_name
        assert translated["description"] != schema.description
        inputs = {name: set(entry) for name, entry in translated.get("inputs", {}).items()}
        assert inputs == {slot.id: texts(slot) for slot in schema.inputs}, name
        outputs = {name: set(entry) for name, entry in translated["outputs"].items()}
        assert outputs == {str(n): texts(slot) for n, slot in enumerate(schema.outputs)}, name


def test_a_translation_has_no_sign_that_the_page_takes_for_a_command():
    for file in CHINESE.glob("*.json"):
        for text in strings(json.loads(file.read_text("utf-8"))):
            assert text.strip()
            assert not re.search(r"[{}|@]", text), (file.name, text)


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


def test_the_categories_are_translated():
    categories = json.loads((CHINESE / "main.json").read_text("utf-8"))["nodeCategories"]
    parts = {part for schema in SCHEMAS.values() for part in schema.category.split("/")}
    assert parts <= set(categories)


def test_every_node_has_help_pages_that_name_its_inputs():
    for name, schema in SCHEMAS.items():
        titles = {f"{name}.md": schema.display_name}
        titles[f"{name}/zh.md"] = translation()[name]["display_name"]
        for page, title in titles.items():
            text = (HELP / page).read_text("utf-8")
            assert text.startswith(f"# {title}\n"), page
            assert [slot.id for slot in schema.inputs if slot.id not in text] == [], page


def test_no_help_page_is_left_over():
    pages = {path.relative_to(HELP).as_posix() for path in HELP.rglob("*.md")}
    assert pages == {f"{name}.md" for name in SCHEMAS} | {f"{name}/zh.md" for name in SCHEMAS}


def test_a_tooltip_does_not_begin_with_the_name_of_its_input():
    for name in (
        "ScheduleSearch", "Calibrate", "CalibrateRatio", "RecordRuns", "PlanSchedule",
        "MethodShootout", "RecordTrajectory", "TrajectoryProfile", "ErrorDecomposition",
        "PropagationGain", "SemanticMetrics",
    ):  # fmt: skip
        for slot in SCHEMAS[f"GPH_{name}"].inputs:
            first = re.sub(r"^(your|the|an?) ", "", (slot.tooltip or "").lower())
            assert not first.startswith(slot.id.rstrip("s")), (name, slot.id)


# What people search for who want a node.
SEARCHES = {
    "GPH_Cache": "teacache, easycache, speed up, faster, cache, steps",
    "GPH_PolicySelector": "taylorseer, dicache", "GPH_GoldenPathLibrary": "preset, schedule",
    "GPH_SaveGoldenPath": "share", "GPH_QualityCompare": "psnr, lpips, difference",
    "GPH_CompareRun": "benchmark", "GPH_SemanticMetrics": "clip score, imagereward",
    "GPH_ScoringExamples": "calibrat", "GPH_AdaptiveCache": "dynamic",
    "GPH_Calibrate": "calibrate, coefficients", "GPH_CalibrateRatio": "rel_l1_thresh",
    "GPH_ScheduleSearch": "optimize, tune", "GPH_RecordRuns": "record",
    "GPH_MostFrequentSchedule": "frequency", "GPH_PlanSchedule": "dpcache",
    "GPH_MethodShootout": "compare methods, seacache", "GPH_RecordTrajectory": "latents",
    "GPH_TrajectoryProfile": "curvature", "GPH_ErrorDecomposition": "drift",
    "GPH_PropagationGain": "sensitivity", "GPH_Coverage": "margin",
    "GPH_ScheduleStatistics": "entropy, interaction", "GPH_DemoModel": "toy model",
    "GPH_DemoPrompt": "text encode",
}  # fmt: skip


def test_every_node_has_search_words_and_is_found_by_them():
    for name, schema in SCHEMAS.items():
        assert len(schema.search_aliases) >= 3, name
        found = " · ".join([schema.display_name, *schema.search_aliases]).lower()
        words = filter(None, SEARCHES.get(name, "").split(", "))
        assert [word for word in words if word not in found] == [], name
    assert SEARCHES.keys() <= SCHEMAS.keys()
