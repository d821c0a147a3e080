"""A real server whose folders of users and of models are known, as workers need no fake."""

import os
import sys
from pathlib import Path

import pytest
import torch
import yaml

import dev

from ...support.comfy import tiny_reward
from ...support.served import object_info_of

WEIGHTS, VOCABULARY = "ImageReward.pt", "vocab.txt"


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    """The server's folder for users."""
    return tmp_path_factory.mktemp("user")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder of models with a tiny ImageReward."""
    folder = tmp_path_factory.mktemp("models") / "image_reward"
    folder.mkdir()
    torch.save(tiny_reward.weights(), folder / WEIGHTS)
    (folder / VOCABULARY).write_text("\n".join(tiny_reward.WORDS) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def running(users, models, tmp_path_factory):
    """The server; its workers know these models, too."""
    folder = tmp_path_factory.mktemp("server")
    places, log = folder / "places.yaml", folder / "server.log"
    places.write_text(yaml.safe_dump({"mine": {"image_reward": str(models)}}), "utf-8")
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    arguments = ["--cpu", "--user-directory", str(users), "--extra-model-paths-config", str(places)]
    with dev.server(tools, arguments, threads=1, log=log) as running:
        yield running


@pytest.fixture(scope="module")
def url(running):
    return running.url


@pytest.fixture(scope="module")
def judges():
    """*Semantic Metrics* with these weights, as a node of a prompt."""
    inputs = {
        "image_reward": WEIGHTS, "prompt": "two red circles", "max_clip_fall": 0.5,
        "max_reward_fall": 100.0,
    }  # fmt: skip
    return {"class_type": "GPH_SemanticMetrics", "inputs": inputs}


@pytest.fixture(scope="module")
def object_info(url):
    """What this server says of its nodes."""
    return object_info_of(url)
