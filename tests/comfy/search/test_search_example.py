"""The example *Search a golden path*: its settings, and a short run through the real server."""

import io
import json
import urllib.parse

import numpy as np
import pytest
from PIL import Image

import dev
from demo import examples, scenes
from demo.examples.search import NAME
from demo.workflow import cached_run, nodes_of_type, to_prompt
from gph_core.paths.golden_path import GoldenPath
from gph_core.schedule import Schedule

from ...support.comfy.listener import events_of


def get(url, path):
    with dev.LOCAL.open(url + path) as response:
        return response.read()


@pytest.fixture
def prompt(object_info):
    return prompt_of(NAME, object_info)


def prompt_of(name, object_info):
    return to_prompt(examples.read(examples.FOLDER / f"{name}.json"), object_info)


def only(prompt, kind):
    """The inputs of the one node of a type."""
    (number,) = nodes_of_type(prompt, kind)
    return prompt[number]["inputs"]


def image(url, output):
    (saved,) = output["images"]
    content = get(url, f"/view?{urllib.parse.urlencode(saved)}")
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def test_it_samples_as_the_bundled_workflow_does(object_info, prompt):
    bundled = cached_run(prompt_of(examples.TRY, object_info))
    search, sampler = only(prompt, "GPH_ScheduleSearch"), only(prompt, "SamplerCustom")
    for name in ("sampler", "sigmas", "cfg"):
        assert search[name] == sampler[name]
    settings = (
        only(prompt, "BasicScheduler") | only(prompt, "KSamplerSelect") | {"cfg": search["cfg"]}
    )
    expected = only(bundled, "KSampler")
    for name in ("scheduler", "denoise", "sampler_name", "cfg"):
        assert settings[name] == expected[name]
    assert only(prompt, "EmptyLatentImage") == only(bundled, "EmptyLatentImage")


def test_validation_has_other_prompts_and_seeds_which_the_demo_model_knows(prompt):
    search = only(prompt, "GPH_ScheduleSearch")
    scoring, validation = (prompt[search[k][0]]["inputs"] for k in ("examples", "validation"))
    seen, unseen = (set(node["prompts"].splitlines()) for node in (scoring, validation))
    assert (len(seen), len(unseen), len(seen | unseen)) == (16, 40, 56)
    seeds = [set(node["seeds"].split(", ")) for node in (scoring, validation)]
    assert not seeds[0] & seeds[1]
    for text in seen | unseen:
        assert len(scenes.words_of(text)) >= 6  # an unknown word is an error


@pytest.mark.long
def test_a_short_search_ends_with_a_kept_path_and_a_picture_made_with_it(url, prompt):
    only(prompt, "GPH_ScheduleSearch")["evaluations"] = 4
    only(prompt, "BasicScheduler")["steps"] = 12
    for number in nodes_of_type(prompt, "GPH_ScoringExamples"):
        given = prompt[number]["inputs"]
        given["prompts"] = "\n".join(given["prompts"].splitlines()[:4])
        given["seeds"] = ", ".join(given["seeds"].split(", ")[:4])
    events = events_of(url, prompt, {"id": "searched", "nodes": []})
    assert "execution_error" not in [event["type"] for event in events]
    done = [event["data"] for event in events if event["type"] == "executed"]
    outputs = {prompt[data["node"]]["class_type"]: data["output"] for data in done}

    (found,) = outputs["GPH_ScheduleSearch"]["gph_search"]
    assert found["scored"] == 4
    assert outputs["PreviewAny"]["text"] == [found["table"]]
    kept = json.loads(get(url, "/golden_path/user_paths/demo%20search,%207%20of%2012"))
    path = GoldenPath.from_json(kept)
    assert (path.schedule.num_full, path.schedule.num_steps) == (7, 12)
    assert kept["policy"]["kind"] == "Fitted"
    assert found["table"].startswith(f"{path.schedule}, fitted\n")
    assert "(7 plain steps)" in found["table"]

    (record,) = (
        event["data"]["record"]
        for event in events
        if event["type"] == "golden_path.run" and event["data"]["state"] == "done"
    )
    assert Schedule.parse(record["schedule"]) == path.schedule
    assert record["policy"] == str(path.policy)

    figure, picture = (image(url, outputs[kind]) for kind in ("PreviewImage", "SaveImage"))
    assert figure.shape[1] > 400
    assert figure.std() > 10
    assert picture.shape == (64, 64, 3)
    assert picture.std() > 10  # a picture, not one colour
