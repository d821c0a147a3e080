"""A run that begins at a remembered state ends bit for bit as one from the start."""

import comfy.sample
import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.prefix import PrefixMemory
from golden_path_pack.nodes.sample.sampling import Sampling

from ...support.zoo import zoo, zoo_images, zoo_videos

CASES = {case.name: case for case in (*zoo_images.CASES, *zoo_videos.CASES)}
SOME = ["FLUX dev", "Qwen-Image", "Wan 2.1 14B", "HunyuanVideo", "Lumina 2", "LTX-2"]
POLICIES = [
    Reuse(), Hermite(2), TwoAnchor(), TokenTaylor(1), Reuse(Site.OUTPUT),
    Taylor(1, site=Site.GUIDED), MeanVelocity(),
]  # fmt: skip
# From one to the next: the first full steps are shared, then they part.
SCHEDULES = [Schedule.parse(text) for text in ("0-3,5,8/10", "0-3,6,9/10", "0-3,5-6/10")]


def sampling(case, sampler="euler"):
    model = zoo.build(case)
    guider = comfy.samplers.CFGGuider(model)
    guider.set_conds(case.conditioning(1, 5), case.conditioning(2, 7))
    guider.set_cfg(case.cfg)
    latent = zoo.empty_latent(case)
    return Sampling(
        guider, comfy.sample.prepare_noise(latent, seed=1), latent,
        comfy.samplers.sampler_object(sampler), zoo.sigmas(model, 10), seed=1,
    )  # fmt: skip


def check(work, policy):
    memory = PrefixMemory(1e9)
    for schedule in SCHEDULES:
        with torch.inference_mode():
            expected, whole = work.cached(schedule, policy)
            resumed, rest = work.resumed(schedule, policy, memory)
        for one, other in zip(zoo.streams(expected), zoo.streams(resumed), strict=True):
            assert torch.equal(one, other)
        yield len(whole.full_steps), len(rest.full_steps)


@pytest.mark.parametrize(
    ("name", "policy"),
    [(SOME[n % len(SOME)], policy) for n, policy in enumerate(POLICIES)],
    ids=str,
)
def test_a_resumed_run_ends_bit_for_bit_as_one_from_the_start(name, policy):
    # The second parts after step 3, the third after step 5 of the first.
    assert list(check(sampling(CASES[name]), policy)) == [(6, 6), (6, 2), (6, 1)]
