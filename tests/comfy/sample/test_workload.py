"""Which examples of a workload are one."""

from dataclasses import replace

import pytest
from golden_path_pack.nodes.sample.workload import Workload, guider_for

from ...support.comfy.calibrate_nodes import CASES, inputs

OTHER = CASES["FLUX dev"].conditioning(7, 5)


def count(*examples):
    given = inputs(count=1)
    guider = guider_for(given["model"], None, 3.0, examples[0])
    return len(Workload(guider, examples, given["latent"], given["sampler"], given["sigmas"]))


@pytest.mark.parametrize(
    "change",
    [{"seed": 5}, {"positive": OTHER}, {"negative": OTHER}],
    ids=["seed", "prompt", "negative prompt"],
)
def test_examples_that_differ_in_one_thing_are_two(change):
    (example,) = inputs(count=1)["examples"]
    assert count(example, replace(example, **change)) == 2


def test_equal_ones_count_once():
    (example,) = inputs(count=1)["examples"]
    assert count(example, replace(example)) == 1
