"""The latents that Record Runs keeps are the sampler's states, from noise to image."""

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.nodes.record import recordings
from safetensors.torch import load_file

from ...support.comfy import tiny
from ...support.comfy.tiny_recordings import STEPS, by_hand, examples, fixed, run
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run")


def states(number):
    name = recordings.read("mine")[number].example
    path = recordings.FILES.path_of("mine").parent / "latents" / f"{name}.safetensors"
    return load_file(path)["states"]


def test_states_are_those_of_the_sampler_from_noise_to_latent(model):
    cached = fixed(model)
    run(cached, keep_latents=True)
    _, latent = by_hand(cached, examples(2)[1])
    found = states(1)
    assert found.shape == (STEPS + 1, 1, 16, 8, 8)
    assert found.dtype == torch.float32
    # Flow models begin at pure noise; the sampler's scale is left at the end.
    noise = comfy.sample.prepare_noise(torch.zeros(1, 16, 8, 8), 1)
    torch.testing.assert_close(found[0], noise)
    torch.testing.assert_close(model.model.process_latent_out(found[-1]), latent)


def test_between_full_steps_states_move_along_a_line_under_velocity_reuse(model):
    cached = tiny.attach(model, "0-2,5,7/8", Reuse(Site.GUIDED))
    run(cached, 1, keep_latents=True)
    sigmas, found = zoo.sigmas(model, STEPS).tolist(), states(0)
    slopes = [(found[n + 1] - found[n]) / (sigmas[n + 1] - sigmas[n]) for n in range(STEPS)]
    for full, cached_step in ((2, 3), (2, 4), (5, 6)):
        torch.testing.assert_close(slopes[cached_step], slopes[full], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(slopes[5], slopes[2], atol=1e-2)


@pytest.mark.parametrize("sampler", ["uni_pc", "dpmpp_2m", "heun", "res_multistep"])
def test_a_sampler_tells_its_states_or_is_refused(model, sampler):
    options = {"sampler": comfy.samplers.sampler_object(sampler), "keep_latents": True}
    if sampler == "uni_pc":
        with pytest.raises(ValueError, match="unipc does not report the states of its steps"):
            run(fixed(model), 1, **options)
        return
    run(fixed(model), 1, **options)
    assert states(0).shape[0] == STEPS + 1
