"""*Semantic Metrics* on a real server, with files of the user."""

import json

import pytest
import torch

from ...support.comfy import tiny_reward
from ...support.comfy.listener import events_of
from .conftest import WEIGHTS

pytestmark = pytest.mark.long


def test_the_server_lists_the_files(object_info):
    options = (
        object_info["GPH_SemanticMetrics"]["input"]["optional"]
        | (object_info["GPH_SemanticMetrics"]["input"]["required"])
    )
    assert WEIGHTS in json.dumps(options["image_reward"])


def test_quality_compare_judges_on_the_server(url, judges):
    def grey(color):
        inputs = {"width": 64, "height": 40, "batch_size": 1, "color": color}
        return {"class_type": "EmptyImage", "inputs": inputs}

    compare = {
        "reference": ["red", 0], "test": ["blue", 0], "lpips": "off", "video": False,
        "heat_map_max": 0.0, "semantic": ["judges", 0],
    }  # fmt: skip
    prompt = {
        "red": grey(0xFF0000), "blue": grey(0x0000FF), "judges": judges,
        "compare": {"class_type": "GPH_QualityCompare", "inputs": compare},
    }  # fmt: skip
    shown = [
        event["data"]["output"]["gph_quality"][0]
        for event in events_of(url, prompt, {"id": "judges", "nodes": []})
        if event["type"] == "executed" and event["data"]["node"] == "compare"
    ]
    scores = [by_hand(color) for color in ([1.0, 0, 0], [0, 0, 1.0])]
    found = shown[0]["parts"][0]["metrics"]
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
