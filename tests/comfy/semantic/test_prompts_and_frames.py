"""By which prompt images are judged, and all frames of a video."""

import pytest
import torch

from ...support.comfy.judged import Brightness, semantic


def images(*values):
    return torch.tensor(values).reshape(-1, 1, 1, 1).expand(-1, 3, 4, 4)


def test_an_image_is_judged_by_its_own_prompt_and_without_one_by_that_of_the_node():
    judge = Brightness()
    found = semantic(judge, prompt="a lamp")
    for own in ("a red circle", "", " "):
        found.scores(images(0.5), own)
    assert judge.prompts == ["a red circle", "a lamp", "a lamp"]


def test_the_score_of_a_video_is_the_mean_of_all_frames():
    assert semantic().scores(images(0.1, 0.2, 0.6)) == {"clip_score": pytest.approx(30)}


def test_the_prompt_of_the_node_is_a_condition_where_an_example_has_none():
    of_lamp, of_tree = semantic(prompt="a lamp"), semantic(prompt="a tree")
    assert of_lamp.conditions(["own", ""]) != of_tree.conditions(["own", ""])
    assert of_lamp.conditions(["own"]) == of_tree.conditions(["own"])
