"""The example workflows as files: whole, as their notes say, and what the builder makes."""

import re
from importlib import metadata

import pytest
from PIL import Image

from demo import examples
from demo.examples import inside
from demo.examples.edits import slot
from demo.workflow import widget_values
from gph_core.schedule import Schedule

FILES = sorted(examples.FOLDER.glob("*.json"))
INSIDE = [example.name for example in inside.EXAMPLES]
CACHED = [file for file in FILES if file.stem not in INSIDE]
BUILT = {example.name: example for example in examples.EXAMPLES}
# Where a patched model may go before it is sampled.
PATCHES = ("ModelSamplingSD3",)
# 42 % of the steps with Quality, 26 % with Balanced, but at least 4.
COUNTS = {
    "FLUX.1-dev_Golden_Path": "Quality* computes 8 of 20",
    "Qwen-Image_Golden_Path": "Balanced* computes 13 of 50",
    "Qwen-Image-Edit_Golden_Path": "Balanced* computes 10 of 40",
    "Wan_2.1_T2V_Golden_Path": "Balanced* computes 8 of 30",
    "Wan_2.2_14B_Two_Experts_Golden_Path": "Balanced* computes 4 of 10",
    "HunyuanVideo_1.5_Golden_Path": "Quality* computes 8 of 20",
    "Z-Image_Golden_Path": "Quality* computes 11 of 25",
    "FLUX.2_Golden_Path": "Quality* computes 8 of 20",
}
SAMPLES = (
    "KSampler", "KSamplerAdvanced", "SamplerCustom", "BasicGuider", "CFGGuider", "BasicScheduler",
)  # fmt: skip


def every(files=FILES):
    """Names and workflows of files."""
    return {file.stem: examples.as_dicts(examples.read(file)) for file in files}.items()


def every_graph():
    """Names of the workflows and each of their graphs."""
    return ((name, graph) for name, workflow in every() for graph in examples.graphs(workflow))


def stored(example):
    return examples.as_dicts(examples.read(examples.FOLDER / f"{example.name}.json"))


def cache_graph(workflow):
    """The graph with the caches, its nodes by id, and the caches."""
    for graph in examples.graphs(workflow):
        caches = [node for node in graph["nodes"] if node["type"] == "GPH_Cache"]
        if caches:
            return graph, examples.nodes(graph), caches
    raise AssertionError("there is no cache node")


def targets(graph, by_id, node):
    ends = [k["target_id"] for k in graph["links"] if k["origin_id"] == node["id"]]
    return [by_id[end] for end in ends]


def test_every_promised_model_has_its_workflow():
    assert [file.stem for file in FILES] == [  # in the order of names
        "1_Try_Golden_Path_Cache",
        "Compare_Full_and_Cached",
        "Compare_Schedules_and_Methods",
        "FLUX.1-dev_Golden_Path",
        "FLUX.2_Golden_Path",
        "Find_Sensitive_Steps",
        "HunyuanVideo_1.5_Golden_Path",
        "Look_Inside_a_Run",
        "Qwen-Image-Edit_Golden_Path",
        "Qwen-Image_Golden_Path",
        "Search_a_Golden_Path",
        "Try_Golden_Path_Cache_Two_Experts",
        "Try_Golden_Path_Cache_Video",
        "Wan_2.1_T2V_Golden_Path",
        "Wan_2.2_14B_Two_Experts_Golden_Path",
        "Z-Image_Golden_Path",
    ]


def test_a_link_can_name_each_and_each_has_a_small_picture():
    for file in FILES:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", file.stem)
        picture = file.with_suffix(".jpg")
        assert picture.stat().st_size <= 60 * 1024, picture
        with Image.open(picture) as opened:
            assert opened.format == "JPEG"
            assert opened.width / opened.height == pytest.approx(4 / 3, abs=0.01), picture


def test_both_ends_of_every_link_know_it():
    for name, graph in every_graph():
        by_id = examples.nodes(graph)
        assert len(by_id) == len(graph["nodes"]), name
        for link in graph["links"]:
            if link["origin_id"] in by_id:  # else it comes from outside the subgraph
                output = by_id[link["origin_id"]]["outputs"][link["origin_slot"]]
                assert link["id"] in output["links"], (name, link)
        known = {link["id"]: link for link in graph["links"]}
        for node in graph["nodes"]:
            for number, entry in enumerate(node["inputs"]):
                if entry["link"] is not None:
                    link = known[entry["link"]]
                    end = (link["target_id"], link["target_slot"])
                    assert end == (node["id"], number), (name, link)


def test_our_nodes_saved_a_value_for_each_widget(object_info):
    for _, graph in every_graph():
        for node in graph["nodes"]:
            if node["type"].startswith("GPH_"):
                widget_values(node, object_info[node["type"]])  # refuses fewer and more


def test_each_cache_stands_between_model_and_sampler():
    for name, workflow in every(CACHED):
        graph, by_id, caches = cache_graph(workflow)
        for cache in caches:
            incoming = slot(cache, "model")["link"]
            (link,) = (k for k in graph["links"] if k["id"] == incoming)
            assert link["type"] == "MODEL", name
            ends = targets(graph, by_id, cache)
            for end in list(ends):
                if end["type"] in PATCHES:
                    ends += targets(graph, by_id, end)
            assert [end for end in ends if end["type"] in SAMPLES], name
            assert all(end["type"] in SAMPLES + PATCHES for end in ends), name


def test_no_sampler_of_a_cached_path_is_left_without_the_cache():
    for name, workflow in every(CACHED):
        graph, by_id, caches = cache_graph(workflow)
        reached = {end["id"] for cache in caches for end in targets(graph, by_id, cache)}
        for patch in [by_id[i] for i in reached if by_id[i]["type"] in PATCHES]:
            reached |= {end["id"] for end in targets(graph, by_id, patch)}
        samplers = [n for n in graph["nodes"] if n["type"] in SAMPLES and n["mode"] == 0]
        left = [node.get("title", node["type"]) for node in samplers if node["id"] not in reached]
        # Comparisons have some on purpose; the search needs noise levels before there is a cache.
        is_on_purpose = all(title.endswith("(full)") for title in left)
        assert left == ["BasicScheduler"] or is_on_purpose, name


def test_two_experts_of_the_demo_share_one_schedule():
    file = examples.FOLDER / "Try_Golden_Path_Cache_Two_Experts.json"
    workflow = examples.as_dicts(examples.read(file))
    _, _, caches = cache_graph(workflow)
    assert len(caches) == 2
    (values,) = {tuple(cache["widgets_values"][:2]) for cache in caches}
    assert values[0] == "Custom"
    schedule = Schedule.parse(values[1])
    assert schedule.num_steps == 50
    samplers = [n["widgets_values"] for n in workflow["nodes"] if n["type"] == "KSamplerAdvanced"]
    starts = {settings[7] for settings in samplers}
    assert starts == {0, 25}  # the scheduler simple crosses the experts' boundary there
    assert starts <= set(schedule.full_steps)


def test_two_experts_have_a_cache_each():
    _, _, caches = cache_graph(stored(BUILT["Wan_2.2_14B_Two_Experts_Golden_Path"]))
    assert [(c["title"], c["widgets_values"][0]) for c in caches] == [
        ("Golden Path Cache (high noise)", "Balanced"),
        ("Golden Path Cache (low noise)", "Balanced"),
    ]


def test_each_note_says_how_many_steps_are_full():
    for name, example in BUILT.items():
        (note,) = (n for n in stored(example)["nodes"] if n.get("title") == "Golden Path")
        assert f"*{COUNTS[name]} steps" in note["widgets_values"][0]


def test_nodes_that_were_added_cover_no_others():
    for name, graph in every_graph():
        for ours in graph["nodes"]:
            if ours["type"] == "GPH_Cache" or ours.get("title") == "Golden Path":
                others = [node for node in graph["nodes"] if node is not ours]
                covered = [node["id"] for node in others if overlap(box(ours), box(node))]
                assert covered == [], name


def box(node):
    """Left, top, right, bottom; the title stands above the position."""
    (x, y), (width, height) = node["pos"], list(node["size"])
    if node["flags"].get("collapsed"):
        height = 0
    return x, y - 30, x + width, y + height


def overlap(one, other):
    return all(one[k] < other[k + 2] and other[k] < one[k + 2] for k in (0, 1))


def test_nothing_of_whoever_saved_the_template_is_left():
    for example in BUILT.values():
        for graph in examples.graphs(stored(example)):
            assert set(graph.get("extra", {})) <= {"workflowRendererVersion"}, example.name


if metadata.version("comfyui-workflow-templates") == examples.TEMPLATES:

    def test_the_files_are_what_the_builder_makes():
        for name, workflow in examples.build_all().items():
            text = (examples.FOLDER / f"{name}.json").read_text("utf-8")
            assert text == examples.text_of(workflow), name
