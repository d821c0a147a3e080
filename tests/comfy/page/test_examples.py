"""The example workflows as files: whole, as their notes say, and what the builder makes."""

import re
from importlib import metadata

import pytest
from PIL import Image

from demo import examples
from demo.examples import compare, inside
from demo.workflow import widget_values
from gph_core.schedule import Schedule

FILES = sorted(examples.FOLDER.glob("*.json"))
INSIDE = [compare.NAME, *(example.name for example in inside.EXAMPLES)]  # without a cache node
CACHED = [file for file in FILES if file.stem not in INSIDE]
BUILT = {example.name: example for example in examples.EXAMPLES}
# 42 % of the steps with Quality, 26 % with Balanced, but at least 4; of 8 steps 6.
COUNTS = {
    "03_Speed_Up_FLUX.1-dev": "Quality* computes 8 of 20",
    "04_Speed_Up_FLUX.2": "Quality* computes 8 of 20",
    "05_Speed_Up_Qwen-Image": "Balanced* computes 13 of 50",
    "06_Speed_Up_Qwen-Image-Edit": "Balanced* computes 10 of 40",
    "07_Speed_Up_Z-Image": "Quality* computes 11 of 25",
    "08_Speed_Up_Wan_2.1": "Balanced* computes 8 of 30",
    "09_Speed_Up_Wan_2.2_Two_Experts": "Balanced* computes 4 of 10",
    "10_Speed_Up_HunyuanVideo_1.5": "Quality* computes 8 of 20",
    "17_Speed_Up_Z-Image-Turbo": "Quality* computes 6 of 8",
    "18_Speed_Up_Wan_2.2_with_Lightning": "Custom* computes 3 of 4",
}
SAMPLES = (
    "KSampler", "KSamplerAdvanced", "SamplerCustom", "BasicGuider", "CFGGuider", "BasicScheduler",
)  # fmt: skip


def every(files=FILES):
    """Names and workflows of files."""
    return {file.stem: examples.as_dicts(examples.read(file)) for file in files}.items()


def stored(name):
    return examples.as_dicts(examples.read(examples.FOLDER / f"{name}.json"))


def of_type(workflow, kind):
    return [node for node in workflow["nodes"] if node["type"] == kind]


def note_of(workflow):
    (note,) = of_type(workflow, "MarkdownNote")
    return note["widgets_values"][0]


def targets(workflow, node):
    """The nodes that an output of a node leads to."""
    ends = [k["target_id"] for k in workflow["links"] if k["origin_id"] == node["id"]]
    return [other for other in workflow["nodes"] if other["id"] in ends]


def test_the_names_are_in_the_order_in_which_to_try_them():
    names = [
        "01_Try_It_on_the_Demo_Model",
        "02_Compare_the_Speeds",
        "03_Speed_Up_FLUX.1-dev",
        "04_Speed_Up_FLUX.2",
        "05_Speed_Up_Qwen-Image",
        "06_Speed_Up_Qwen-Image-Edit",
        "07_Speed_Up_Z-Image",
        "08_Speed_Up_Wan_2.1",
        "09_Speed_Up_Wan_2.2_Two_Experts",
        "10_Speed_Up_HunyuanVideo_1.5",
        "11_Try_It_on_a_Video",
        "12_Share_a_Schedule_between_Two_Experts",
        "13_Search_for_the_Best_Schedule",
        "14_See_What_Happens_in_a_Run",
        "15_Find_the_Sensitive_Steps",
        "16_Compare_Schedules_and_Methods",
        "17_Speed_Up_Z-Image-Turbo",
        "18_Speed_Up_Wan_2.2_with_Lightning",
    ]
    assert [file.stem for file in FILES] == names
    listed = (examples.FOLDER / "README.md").read_text("utf-8")
    assert re.findall(r"^\| (\d\S+)", listed, re.MULTILINE) == names


def test_a_link_can_name_each_and_each_has_a_small_picture():
    for file in FILES:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", file.stem)
        picture = file.with_suffix(".jpg")
        assert picture.stat().st_size <= 60 * 1024, picture
        with Image.open(picture) as opened:
            assert opened.format == "JPEG"
            assert opened.width / opened.height == pytest.approx(4 / 3, abs=0.01), picture


def test_both_ends_of_every_link_know_it():
    for name, workflow in every():
        by_id = {node["id"]: node for node in workflow["nodes"]}
        assert len(by_id) == len(workflow["nodes"]), name
        for link in workflow["links"]:
            output = by_id[link["origin_id"]]["outputs"][link["origin_slot"]]
            assert link["id"] in output["links"], (name, link)
        known = {link["id"]: link for link in workflow["links"]}
        for node in workflow["nodes"]:
            for number, entry in enumerate(node["inputs"]):
                if entry["link"] is not None:
                    link = known[entry["link"]]
                    end = (link["target_id"], link["target_slot"])
                    assert end == (node["id"], number), (name, link)


def test_every_node_saved_a_value_for_each_widget(object_info):
    for _, workflow in every():
        for node in workflow["nodes"]:
            if node["type"].startswith("GPH_"):
                widget_values(node, object_info[node["type"]])  # refuses fewer and more


def test_all_nodes_are_in_sight_and_none_covers_another():
    for name, workflow in every():
        assert not workflow.get("definitions"), name  # no subgraph
        nodes = workflow["nodes"]
        for number, node in enumerate(nodes):
            covered = [o["id"] for o in nodes[:number] if overlap(box(node), box(o))]
            assert covered == [], (name, node["id"])


def box(node):
    """Left, top, right, bottom; the title stands above the position."""
    (x, y), (width, height) = node["pos"], node["size"]
    if node["flags"].get("collapsed"):
        width, height = 140, 0  # less than its title needs
    return x, y - 30, x + width, y + height


def overlap(one, other):
    return all(one[k] < other[k + 2] and other[k] < one[k + 2] for k in (0, 1))


def test_the_seed_stays_the_same_from_run_to_run_unless_the_node_learns():
    for name, workflow in every():
        values = [value for node in workflow["nodes"] for value in node.get("widgets_values", [])]
        texts = set(map(str, values))
        learns = {"from 2 images", "from 4 images", "from 8 images"} & texts  # from other images
        assert {"increment", "decrement"}.isdisjoint(texts), name
        assert ("randomize" in texts) == bool(learns), name


def test_each_cache_stands_between_model_and_sampler():
    for name, workflow in every(CACHED):
        caches = of_type(workflow, "GPH_Cache")
        assert caches, name
        for cache in caches:
            (entry,) = (e for e in cache["inputs"] if e["name"] == "model")
            (link,) = (k for k in workflow["links"] if k["id"] == entry["link"])
            assert link["type"] == "MODEL", name
            ends = [end["type"] for end in targets(workflow, cache)]
            assert ends, name
            assert set(ends) <= set(SAMPLES), name


def test_no_sampler_of_a_cached_path_is_left_without_the_cache():
    for name, workflow in every(CACHED):
        reached = {e["id"] for c in of_type(workflow, "GPH_Cache") for e in targets(workflow, c)}
        samplers = [node for node in workflow["nodes"] if node["type"] in SAMPLES]
        left = [node.get("title", node["type"]) for node in samplers if node["id"] not in reached]
        # Comparisons have some on purpose; the search needs noise levels before there is a cache.
        is_on_purpose = all(title.endswith("(full)") for title in left)
        assert left == ["BasicScheduler"] or is_on_purpose, name


def test_two_experts_of_the_demo_share_one_schedule():
    workflow = stored("12_Share_a_Schedule_between_Two_Experts")
    caches = of_type(workflow, "GPH_Cache")
    assert len(caches) == 2
    (values,) = {tuple(cache["widgets_values"][:2]) for cache in caches}
    assert values[0] == "Custom"
    schedule = Schedule.parse(values[1])
    assert schedule.num_steps == 50
    samplers = [node["widgets_values"] for node in of_type(workflow, "KSamplerAdvanced")]
    starts = {settings[7] for settings in samplers}
    assert starts == {0, 25}  # the scheduler simple crosses the experts' boundary there
    assert starts <= set(schedule.full_steps)


def test_two_experts_have_a_cache_each():
    caches = of_type(stored("09_Speed_Up_Wan_2.2_Two_Experts"), "GPH_Cache")
    assert [(c["title"], c["widgets_values"][0]) for c in caches] == [
        ("Golden Path Cache (high noise)", "Balanced"),
        ("Golden Path Cache (low noise)", "Balanced"),
    ]


def test_each_note_says_how_many_steps_are_full_and_where_the_files_are():
    assert BUILT.keys() == COUNTS.keys()
    for name in BUILT:
        workflow = stored(name)
        assert f"*{COUNTS[name]} steps" in note_of(workflow)
        loaders = [n for n in workflow["nodes"] if re.search(r"(CLIP|UNET|VAE)Loader$", n["type"])]
        wanted = [v for n in loaders for v in n["widgets_values"] if v.endswith(".safetensors")]
        offered = [model for n in loaders for model in n["properties"]["models"]]
        assert [model["name"] for model in offered] == wanted
        for model in offered:
            assert re.search(rf"/{re.escape(model['name'])}(\?download=true)?$", model["url"])
            assert f"[{model['name']}]({model['url']})" in note_of(workflow)


if metadata.version("comfyui-workflow-templates") == examples.TEMPLATES:

    def test_the_files_are_what_the_builder_makes():
        for name, workflow in examples.build_all().items():
            text = (examples.FOLDER / f"{name}.json").read_text("utf-8")
            assert text == examples.text_of(workflow), name
