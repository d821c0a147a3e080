"""Semantic Metrics and the nodes that compare images by it."""

import asyncio
import json
from types import SimpleNamespace

import execution
import pytest
import torch
from golden_path_pack.nodes.compare import pairs
from golden_path_pack.nodes.compare.image_metrics import judged
from golden_path_pack.nodes.compare.quality_compare import QualityCompare
from golden_path_pack.nodes.semantic.semantic_metrics import SemanticMetricsNode

import nodes

from ...support.comfy import tiny_clip
from ...support.comfy.compared import compare
from ...support.comfy.judged import Brightness, semantic
from ...support.comfy.quality import compared

pytestmark = pytest.mark.usefixtures("temporary")
OFF = "off"


def greys(*values, size=32):
    return torch.tensor(values).reshape(-1, 1, 1, 1).expand(-1, size, size, 3)


def quality(reference, test, **changes):
    """The report of Quality Compare."""
    return json.loads(compared(reference, test, **changes).result[5])


@pytest.fixture(scope="module")
def clip():
    return tiny_clip.published()


# --- the node itself ------------------------------------------------------------------------------


def test_without_any_judge_the_node_says_what_to_connect():
    with pytest.raises(ValueError, match="nothing to judge with; connect clip_vision and clip"):
        SemanticMetricsNode.execute(prompt="a lamp")


@pytest.mark.parametrize(("given", "other"), [("clip", "clip_vision"), ("clip_vision", "clip")])
def test_half_a_clip_is_refused(given, other):
    with pytest.raises(ValueError, match=f"{given} is connected, connect {other} too"):
        SemanticMetricsNode.execute(**{given: object()})


def test_the_limit_is_that_of_the_guard(clip):
    inputs = tiny_clip.vision(clip), tiny_clip.text(clip)
    (found,) = SemanticMetricsNode.execute(*inputs, max_clip_fall=0.25).result
    assert found.guard.limits == {"clip_change": 0.25}


# --- Quality Compare ------------------------------------------------------------------------------


def test_each_image_has_its_score_and_the_difference_to_the_reference():
    judge = Brightness()
    report = quality(greys(0.5, 0.25), greys(0.375, 0.5), semantic=semantic(judge))
    assert report["metrics"]["clip_score"]["values"] == pytest.approx([37.5, 50])
    assert report["metrics"]["clip_change"]["values"] == pytest.approx([-12.5, 25])
    assert report["metrics"]["clip_change"]["mean"] == pytest.approx(6.25)
    assert judge.prompts == ["a lamp"] * 4  # each image once


def test_frames_of_a_video_are_judged_one_by_one():
    report = quality(greys(0.5, 0.25), greys(0.5, 0.5), video=True, semantic=semantic())
    assert report["metrics"]["clip_change"]["values"] == pytest.approx([0, 25])


def test_without_judges_nothing_changes():
    images = greys(0.5, 0.25), greys(0.375, 0.5)
    judged = quality(*images, semantic=semantic())
    assert {"clip_score", "clip_change"} <= judged["metrics"].keys()
    for key in ("clip_score", "clip_change"):
        del judged["metrics"][key]
    assert quality(*images) == judged


def test_the_strip_has_the_change_below_the_test():
    images = greys(0.5), greys(0.375)
    measured, _ = pairs.measure(*images, OFF, False, lambda: None)
    (measured,) = judged([measured], images, semantic())
    ((_, below, _),) = pairs.captions_of(measured, 1, 1.0, {})
    assert below.split(" · ")[-1] == "Δ CLIP -12.50"


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_images_without_a_prompt_are_refused_before_anything_is_measured(prompt):
    judge = Brightness()
    with pytest.raises(ValueError, match="write it into prompt of Semantic Metrics"):
        quality(greys(0.5), greys(0.5), semantic=semantic(judge, prompt))
    assert judge.prompts == []


# --- Compare Run ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("in_a_run")
def test_compare_run_judges_all_runs(model):
    output = compare(model, semantic=semantic())
    batch, (text, found) = output.result[0][0], output.result[2:4]
    full, *others = json.loads(found)["runs"]
    scores = [100 * float(image.mean()) for image in batch]
    for run, score in zip(others, scores[1:], strict=True):
        assert run["metrics"]["clip_score"]["values"] == pytest.approx([score])
        change = run["metrics"]["clip_change"]["values"]
        assert change == pytest.approx([score - scores[0]], abs=1e-5)
    assert full["metrics"] == {}
    heading, _, cached, *_ = text.splitlines()
    assert heading.endswith("  CLIP score    Δ CLIP")
    assert cached.endswith(f"{scores[1]:.2f}{scores[1] - scores[0]:>+10.2f}")


@pytest.mark.usefixtures("in_a_run")
def test_compare_run_without_a_prompt_samples_nothing(model):
    with pytest.raises(ValueError, match="write it into prompt"):
        compare(model, semantic=semantic(prompt=""))


# --- in ComfyUI -----------------------------------------------------------------------------------


class TinyLoader:
    """Node that loads the tiny CLIP."""

    RETURN_TYPES = ("CLIP_VISION", "CLIP")
    FUNCTION = "load"

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {}}

    def load(self):
        model = tiny_clip.published()
        return tiny_clip.vision(model), tiny_clip.text(model)


class Server:
    """Server as the executor needs it; keeps what nodes show."""

    client_id = "test"

    def __init__(self):
        self.shown = {}
        self.prompt_queue = SimpleNamespace()

    def send_sync(self, event, data, sid=None):
        if event == "executed":
            self.shown[data["node"]] = data["output"]


def node(kind, **inputs):
    return {"class_type": kind, "inputs": inputs}


def grey(color):
    return node("EmptyImage", width=64, height=40, batch_size=1, color=color)


def test_a_workflow_with_it_runs_in_comfyui(clip, monkeypatch):
    ours = {c.define_schema().node_id: c for c in (SemanticMetricsNode, QualityCompare)}
    for name, kind in {"TinyLoader": TinyLoader, **ours}.items():
        monkeypatch.setitem(nodes.NODE_CLASS_MAPPINGS, name, kind)
    prompt = {
        "clip": node("TinyLoader"),
        "judges": node(
            "GPH_SemanticMetrics", clip_vision=["clip", 0], clip=["clip", 1], image_reward="off",
            prompt="a red circle", max_clip_fall=0.5, max_reward_fall=0.1,
        ),
        "red": grey(0xFF0000), "blue": grey(0x0000FF),
        "compare": node(
            "GPH_QualityCompare", reference=["red", 0], test=["blue", 0], lpips="off", video=False,
            heat_map_max=0.0, semantic=["judges", 0],
        ),
    }  # fmt: skip
    is_valid, error, *_ = asyncio.run(execution.validate_prompt("id", prompt, None))
    assert is_valid, error
    server = Server()
    executor = execution.PromptExecutor(
        server, cache_args={"lru": 0, "ram": 0.0, "ram_inactive": 0.0}
    )
    executor.execute(prompt, "id", {"client_id": "test"}, ["compare"])
    assert executor.success, executor.status_messages
    ((shown,),) = server.shown["compare"].values()
    # The same by hand: the whole image is one colour, so nothing depends on its size.
    judge = SemanticMetricsNode.execute(*TinyLoader().load(), prompt="a red circle").result[0]
    colors = torch.tensor([[1.0, 0, 0], [0, 0, 1.0]]).reshape(2, 3, 1, 1).expand(2, 3, 28, 28)
    red, blue = (judge.scores(image[None])["clip_score"] for image in colors)
    found = shown["parts"][0]["metrics"]
    assert found["clip_score"]["values"] == pytest.approx([blue], abs=1e-3)
    assert found["clip_change"]["values"] == pytest.approx([blue - red], abs=1e-3)
    assert abs(blue - red) > 0.01
