"""A run leaves what it was given, so that the next one is the same."""

import pytest
import torch
from golden_path_pack.nodes.sample.workload import Workload, guider_for

from ...support.comfy.calibrate_nodes import inputs

pytestmark = pytest.mark.usefixtures("inference")


# uni_pc replaces the last noise level in place.
@pytest.mark.parametrize("sampler", ["euler", "uni_pc"])
def test_noise_levels_stay_and_a_second_run_is_the_first(sampler):
    given = inputs(count=1, steps=4, sampler=sampler)
    guider = guider_for(given["model"], None, 3.0, given["examples"][0])
    work = Workload(guider, given["examples"], given["latent"], given["sampler"], given["sigmas"])
    before = given["sigmas"].clone()
    runs = [work.sampling(0).full() for _ in range(2)]
    assert torch.equal(given["sigmas"], before)
    assert torch.equal(*runs)
