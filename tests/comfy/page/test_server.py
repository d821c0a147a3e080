"""The pack in the real server: it loads without a word, and the bundled workflow runs."""

import io
import json
import math
import urllib.error
import urllib.parse
import urllib.request

import pytest
from PIL import Image

import dev
from demo import examples
from demo.subjects import WORKFLOW
from demo.workflow import nodes_of_type
from gph_core.run.record import RunRecord

from ...support.comfy.listener import events_of
from ...support.served import refusal, run


def test_the_pack_loads_without_a_warning(url, server_log):
    # Another test's run may have warned in this session's server since.
    log = server_log.read_text("utf-8", "replace").partition("To see the GUI")[0]
    assert dev.PACK_NAME in log  # in the list of import times
    ours = [line.lower() for line in log.splitlines() if "golden" in line.lower()]
    assert not [line for line in ours if "warn" in line or "error" in line or "fail" in line]


@pytest.mark.parametrize("node", ["GPH_Cache", "GPH_ScheduleEditor"])
def test_the_schedule_is_a_text_widget_and_a_typed_socket(object_info, node):
    kind, options = object_info[node]["input"]["required"]["schedule"]
    assert kind == "STRING,GPH_SCHEDULE"
    assert options["widgetType"] == "STRING"


def test_every_input_has_a_tooltip(object_info):
    ours = {name: info["input"] for name, info in object_info.items() if name.startswith("GPH_")}
    assert len(ours) > 20
    without = {
        (name, key)
        for name, inputs in ours.items()
        for key, (_, *options) in (inputs["required"] | inputs.get("optional", {})).items()
        if not (options and options[0].get("tooltip"))
    }
    # What needs no explanation, or has it at the list that grows.
    assert {key for _, key in without} <= {"model"}


def test_the_bundled_workflow_runs_and_reports(url, prompt):
    image, seconds, record = run(url, prompt)
    assert image.shape == (64, 64, 3)
    assert image.std() > 10  # a picture, not one colour
    assert seconds > 0
    # Balanced, 12 steps: 26 % would be 3, at least 5 stay full. No path is known for these steps;
    # of all 330 schedules this has the least cost by the formula of spacing by noise level.
    assert record["full_steps"] == [0, 1, 3, 7, 11]
    assert record["cached_steps"] == [2, 4, 5, 6, 8, 9, 10]
    assert record["origin"] == "spacing by noise level"
    assert RunRecord.from_dict(record).schedule == "0-1,3,7,11/12"


def workflow_of_the_newest_image(url):
    """What a user gets who drags the image onto the page."""
    with dev.LOCAL.open(f"{url}/history?max_items=1") as response:
        (entry,) = json.load(response).values()
    (image,) = (image for output in entry["outputs"].values() for image in output["images"])
    with dev.LOCAL.open(f"{url}/view?{urllib.parse.urlencode(image)}") as response:
        return json.loads(Image.open(io.BytesIO(response.read())).text["workflow"])


def test_the_report_is_in_the_workflow_of_the_saved_image(url, prompt):
    (cache,) = nodes_of_type(prompt, "GPH_Cache")
    (sampler,) = nodes_of_type(prompt, "KSampler")
    for seed in (101, 102):  # the second time ComfyUI keeps the cache node's MODEL
        prompt[sampler]["inputs"]["seed"] = seed
        _, _, record = run(url, prompt, {"id": f"workflow {seed}", "nodes": []})
        workflow = workflow_of_the_newest_image(url)
        assert workflow["id"] == f"workflow {seed}"
        assert workflow["extra"] == {"golden_path": {cache: [record]}}


def test_each_run_of_a_prompt_is_reported(url, prompt):
    (cache,) = nodes_of_type(prompt, "GPH_Cache")
    (sampler,) = nodes_of_type(prompt, "KSampler")
    (decoder,) = nodes_of_type(prompt, "VAEDecode")
    again = {**prompt[sampler]["inputs"], "latent_image": [sampler, 0], "denoise": 0.5, "steps": 6}
    prompt["90"] = {"class_type": "KSampler", "inputs": again}
    prompt[decoder]["inputs"]["samples"] = ["90", 0]
    events = run_and_listen(url, prompt, {"id": "two runs", "nodes": []})
    reports = workflow_of_the_newest_image(url)["extra"]["golden_path"][cache]
    done = [event for event in events if event["state"] == "done"]
    assert [event["run"] for event in done] == [0, 1]
    assert [event["record"] for event in done] == reports
    for number, report in enumerate(reports):
        states = [(e["state"], e.get("kind")) for e in events if e["run"] == number]
        assert states[0] == ("planned", None)
        kinds = ["full" if n in report["full_steps"] else "cached" for n in range(len(states) - 2)]
        assert states[1:-1] == [("running", kind) for kind in kinds]
    assert [len(report["sigmas"]) - 1 for report in reports] == [12, 6]
    assert {(e["workflow_id"], e["node_id"]) for e in events} == {("two runs", cache)}
    assert len({e["prompt_id"] for e in events}) == 1


def run_and_listen(url, prompt, workflow):
    """The events of the cache nodes during a prompt."""
    events = events_of(url, prompt, workflow)
    assert "execution_error" not in [event["type"] for event in events]
    return [event["data"] for event in events if event["type"] == "golden_path.run"]


def test_the_same_prompt_gives_the_same_image_without_the_node(url, prompt):
    (cache,) = nodes_of_type(prompt, "GPH_Cache")
    (sampler,) = nodes_of_type(prompt, "KSampler")
    prompt[cache]["inputs"].update(speed="Custom", schedule="0-11/12")
    full, _, _ = run(url, prompt)
    prompt[cache]["inputs"].update(speed="Off", schedule="")
    off, _, record = run(url, prompt)
    assert record is None
    assert (full == off).all()
    prompt[sampler]["inputs"]["model"] = prompt[cache]["inputs"]["model"]
    del prompt[cache]
    without, _, record = run(url, prompt)
    assert record is None
    assert (full == without).all()


def test_the_policy_selector_changes_the_prediction(url, prompt):
    (cache,) = nodes_of_type(prompt, "GPH_Cache")
    inputs = {"policy": "Hermite", "order": 2, "scale": 0.5}
    prompt["9"] = {"class_type": "GPH_PolicySelector", "inputs": inputs}
    prompt[cache]["inputs"]["policy"] = ["9", 0]
    extrapolated, _, record = run(url, prompt)
    assert record["policy"] == "Hermite order 2, scale 0.5"
    del prompt[cache]["inputs"]["policy"]
    reused, _, record = run(url, prompt)
    assert record["policy"] == "residual reuse"
    assert (extrapolated != reused).any()


def test_a_wrong_schedule_text_is_refused_before_anything_runs(url, prompt):
    (cache,) = nodes_of_type(prompt, "GPH_Cache")
    prompt[cache]["inputs"].update(speed="Custom", schedule="0-2")
    assert all("'0-2' has no step count" in details for details in refusal(url, prompt))


def test_a_schedule_longer_than_the_run_is_an_error_in_words(url, prompt):
    (cache,) = nodes_of_type(prompt, "GPH_Cache")
    prompt[cache]["inputs"].update(speed="Custom", schedule="0-3,9/50")
    with pytest.raises(RuntimeError, match="covers 50 steps but the sampler runs 12"):
        run(url, prompt)


def test_an_unknown_word_is_refused_with_the_vocabulary(url, prompt):
    positive = nodes_of_type(prompt, "GPH_DemoPrompt")[0]
    prompt[positive]["inputs"]["text"] = "a brown hexagon"
    details, *_ = refusal(url, prompt)
    assert "does not know 'brown', 'hexagon'" in details
    assert "circle" in details


def test_two_images_are_compared_and_what_needs_a_missing_metric_does_not_run(url):
    grey = {"width": 32, "height": 32, "batch_size": 2}
    prompt = {
        "1": {"class_type": "EmptyImage", "inputs": grey | {"color": 0}},
        "2": {"class_type": "EmptyImage", "inputs": grey | {"color": 0x333333}},
        "3": {
            "class_type": "GPH_QualityCompare",
            "inputs": {
                "reference": ["1", 0], "test": ["2", 0], "lpips": "gone.pth", "video": False,
                "heat_map_max": 0.0,
            },
        },
        "4": {"class_type": "PreviewAny", "inputs": {"source": ["3", 0]}},
        "5": {"class_type": "PreviewAny", "inputs": {"source": ["3", 2]}},
        "6": {"class_type": "PreviewImage", "inputs": {"images": ["3", 4]}},
    }  # fmt: skip
    events = events_of(url, prompt, {"id": "compared", "nodes": []})
    done = [event["data"] for event in events if event["type"] == "executed"]
    outputs = {data["node"]: data["output"] for data in done}
    (shown,) = outputs["3"]["gph_quality"]
    (report,) = shown["parts"]
    assert report["metrics"]["psnr"]["mean"] == pytest.approx(-20 * math.log10(0.2), abs=1e-3)
    assert shown["workflow_id"] == "compared"
    assert float(outputs["4"]["text"][0]) == report["metrics"]["psnr"]["mean"]
    assert len(outputs["6"]["images"]) == 2
    assert "5" not in outputs
    (error,) = (event["data"] for event in events if event["type"] == "execution_error")
    assert "Quality Compare has no LPIPS: gone.pth is not in" in error["exception_message"]


@pytest.mark.parametrize(
    ("method", "headers", "body", "status"),
    [
        ("POST", {"Origin": "http://elsewhere.example"}, b'{"steps": 20, "full": 8}', 403),
        ("POST", {}, b"{", 400),
        ("POST", {}, b" " * (17 * 2**20), 400),
        ("DELETE", {}, None, 405),
        ("POST", {}, b'{"steps": 20, "full": 8}', 200),
    ],
    ids=["another origin", "no JSON", "too large", "wrong method", "whole"],
)
def test_the_server_refuses_what_no_page_of_ours_sends(url, method, headers, body, status):
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(f"{url}/golden_path/uniform", body, headers, method=method)
    try:
        with dev.LOCAL.open(request) as response:
            found = response.status
    except urllib.error.HTTPError as error:
        with error:
            found = error.code
    assert found == status


def test_the_workflow_is_offered_as_a_template(url):
    with dev.LOCAL.open(f"{url}/workflow_templates") as response:
        assert WORKFLOW.stem in json.load(response)[dev.PACK_NAME]


def test_the_examples_need_no_other_extension(object_info):
    drawn = {"MarkdownNote"}  # by the page alone
    for file in examples.FOLDER.glob("*.json"):
        types = {node["type"] for node in examples.read(file)["nodes"]}
        assert types - drawn <= set(object_info), file.name


def test_the_page_gets_script_and_help(url):
    with dev.LOCAL.open(f"{url}/extensions") as response:
        scripts = [path for path in json.load(response) if dev.PACK_NAME in path]
    web = dev.ROOT / "web"
    files = [file.relative_to(web).as_posix() for file in web.rglob("*.js")]
    assert sorted(scripts) == sorted(f"/extensions/{dev.PACK_NAME}/{name}" for name in files)
    for name in ("GPH_Cache", "GPH_PolicySelector"):
        with dev.LOCAL.open(f"{url}/extensions/{dev.PACK_NAME}/docs/{name}.md") as page:
            assert page.read().startswith(b"# ")
