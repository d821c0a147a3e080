"""A run without a plane is left out of the angles between planes, and shifts no other."""

import json

import pytest
import torch

from .test_trajectories import profile, record, rewrite

pytestmark = pytest.mark.usefixtures("in_a_run")


def straight(kept):
    """States along one line, without any rounding."""
    step = kept[-1].bfloat16().float()
    return torch.stack([number * step for number in range(len(kept))])


def test_angles_are_named_by_the_runs_that_have_a_plane(model):
    found, _ = record(model).result
    whole = json.loads(profile(found).result[1])["plane_angles"]
    rewrite(0, straight)
    rest = json.loads(profile(found).result[1])["plane_angles"]
    assert rest["same prompt"] == whole["same prompt"]  # runs 1 and 2
    assert "same noise" in whole
    assert "same noise" not in rest  # runs 0 and 1
