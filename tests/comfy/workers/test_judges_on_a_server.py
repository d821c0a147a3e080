"""*Semantic Metrics* on a real server, with files of the user; and the guard with real workers."""

import json
import os
import sys
from pathlib import Path

import pytest
import torch
import yaml

import dev
from demo.workflow import nodes_of_type

from .. import tiny_reward
from ..listener import events_of
from .test_search_with_workers import delivered, logged, prompt_of, run

WEIGHTS, VOCABULARY = "ImageReward.pt", "vocab.txt"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder of models with a tiny ImageReward."""
    folder = tmp_path_factory.mktemp("models") / "image_reward"
    folder.mkdir()
    torch.save(tiny_reward.weights(), folder / WEIGHTS)
    (folder / VOCABULARY).write_text("\n".join(tiny_reward.WORDS) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def running(server_log, users, models, tmp_path_factory):
    """A server that knows this folder, as its workers do."""
    places = tmp_path_factory.mktemp("places") / "places.yaml"
    places.write_text(yaml.safe_dump({"mine": {"image_reward": str(models)}}), "utf-8")
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    arguments = ["--cpu", "--user-directory", str(users), "--extra-model-paths-config", str(places)]
    with dev.server(tools, arguments, threads=1, log=server_log) as running:
        yield running


def judges(limit=0.1):
    inputs = {
        "image_reward": WEIGHTS, "prompt": "two red circles", "max_clip_fall": 0.5,
        "max_reward_fall": limit,
    }  # fmt: skip
    return {"class_type": "GPH_SemanticMetrics", "inputs": inputs}


def test_the_server_lists_the_files(object_info):
    options = (
        object_info["GPH_SemanticMetrics"]["input"]["optional"]
        | (object_info["GPH_SemanticMetrics"]["input"]["required"])
    )
    assert WEIGHTS in json.dumps(options["image_reward"])


def test_quality_compare_judges_on_the_server(url):
    def grey(color):
        inputs = {"width": 64, "height": 40, "batch_size": 1, "color": color}
        return {"class_type": "EmptyImage", "inputs": inputs}

    compare = {
        "reference": ["red", 0], "test": ["blue", 0], "lpips": "off", "video": False,
        "heat_map_max": 0.0, "semantic": ["judges", 0],
    }  # fmt: skip
    prompt = {
        "red": grey(0xFF0000), "blue": grey(0x0000FF), "judges": judges(),
        "compare": {"class_type": "GPH_QualityCompare", "inputs": compare},
    }  # fmt: skip
    shown = [
        event["data"]["output"]["gph_quality"][0]
        for event in events_of(url, prompt, {"id": "judges", "nodes": []})
        if event["type"] == "executed" and event["data"]["node"] == "compare"
    ]
    scores = [by_hand(color) for color in ([1.0, 0, 0], [0, 0, 1.0])]
    found = shown[0]["metrics"]
    assert found["image_reward"]["values"] == pytest.approx([scores[1]], abs=1e-4)
    assert found["reward_change"]["values"] == pytest.approx([scores[1] - scores[0]], abs=1e-4)


def by_hand(color):
    """ImageReward of an image of one colour; published mean and deviation of its pixels."""
    mean = torch.tensor([0.48145466, 0.4578275, 0.40821073])
    deviation = torch.tensor([0.26862954, 0.26130258, 0.27577711])
    pixels = ((torch.tensor(color) - mean) / deviation).reshape(3, 1, 1)
    tokens = [
        tiny_reward.WORDS.index(word) for word in ("[CLS]", "two", "red", "circle", "##s", "[SEP]")
    ]
    pixels = pixels.expand(3, tiny_reward.SIDE, tiny_reward.SIDE)
    raw = tiny_reward.ByHand(tiny_reward.weights()).reward(pixels, tokens)
    return (raw - 0.16717362830052426) / 1.0333394966054072


@pytest.mark.long
def test_a_guarded_search_with_two_workers_is_that_without(url, users, object_info):
    # Of a policy that fits nothing; with a killed worker (test_search_with_workers) weights are.
    policies = "residual reuse"
    studies = {workers: f"guarded {workers}" for workers in (0, 2)}
    tables = []
    for workers, study in studies.items():
        prompt = prompt_of(object_info, study, workers, policies)
        prompt["judges"] = judges(limit=100.0)
        (search,) = nodes_of_type(prompt, "GPH_ScheduleSearch")
        prompt[search]["inputs"]["semantic"] = ["judges", 0]
        tables.append(run(url, prompt))
    assert "Guard: ImageReward falls by at most 100" in tables[0]
    assert "Δ reward" in tables[0]
    assert f"12, {policies}" in tables[0]
    assert tables[0] == tables[1]
    assert delivered(url, studies[0]) == delivered(url, studies[2])
    assert logged(users, studies[0]) == logged(users, studies[2])
