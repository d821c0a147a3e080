"""Velocities that fits ask for: after guidance, and of the second prompt."""

from dataclasses import replace

import comfy.samplers
import pytest
import torch
from golden_path_pack.nodes.sample.euler import velocities_at
from golden_path_pack.nodes.sample.sampling import Sampling

from ...support.comfy import tiny
from ...support.comfy.sampled import windowed
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

STEP = 2
SHAPE = (2, 16, 8, 8)
PROMPTS = tiny.conditioning(1), tiny.conditioning(2)

pytestmark = pytest.mark.usefixtures("inference")


def random(seed, shape=SHAPE):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def sampling_of(model, cfg=3.0, prompts=PROMPTS, **changes):
    guider = comfy.samplers.CFGGuider(model)
    guider.set_conds(*prompts)
    guider.set_cfg(cfg)
    latent = changes.pop("latent", torch.zeros(SHAPE))
    noise, sampler = random(5, latent.shape), comfy.samplers.sampler_object("euler")
    return Sampling(guider, noise, latent, sampler, zoo.sigmas(model, 6), 1, **changes)


def denoised(model, x, sigma):
    """What the model makes of each prompt, asked for on its own."""
    return [
        model.model.apply_model(
            x, torch.tensor([sigma] * len(x)), c_crossattn=cross.expand(len(x), -1, -1),
            y=extra["pooled_output"].expand(len(x), -1), guidance=torch.tensor([3.5] * len(x)),
            transformer_options={},
        )
        for ((cross, extra),) in PROMPTS
    ]  # fmt: skip


def test_velocities_are_those_after_guidance_and_of_the_negative_prompt(model):
    sampling, state = sampling_of(model), random(6)
    sigma = float(sampling.sigmas[STEP])
    found = velocities_at(sampling, STEP, state)
    positive, negative = denoised(model, state, sigma)
    guided = (state - (negative + 3 * (positive - negative))) / sigma
    expected = torch.stack([guided, (state - negative) / sigma], 1)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_without_guidance_there_is_one_prompt(model):
    sampling, state = sampling_of(model, cfg=1.0), random(6)
    sigma = float(sampling.sigmas[STEP])
    found = velocities_at(sampling, STEP, state)
    positive, _ = denoised(model, state, sigma)
    torch.testing.assert_close(found, ((state - positive) / sigma)[:, None], rtol=1e-3, atol=1e-3)


def test_where_a_mask_keeps_the_latent_both_lead_there(model):
    mask = torch.zeros(2, 1, 8, 8)
    mask[..., :4], mask[..., 4:6] = 1.0, 0.5
    latent = random(7)
    sampling, state = sampling_of(model, latent=latent, mask=mask), random(6)
    sigma = float(sampling.sigmas[STEP])
    found = velocities_at(sampling, STEP, state)
    given = model.model.process_latent_in(latent)
    seen = mask * state + (1 - mask) * (sigma * random(5) + (1 - sigma) * given)
    positive, negative = denoised(model, seen, sigma)
    made = mask * (negative + 3 * (positive - negative)) + (1 - mask) * given
    guided = (state - made) / sigma
    second = mask * (seen - negative) / sigma + (1 - mask) * guided
    torch.testing.assert_close(found, torch.stack([guided, second], 1), rtol=1e-3, atol=1e-3)
    assert torch.equal(found[:, 0, :, :, 6:], found[:, 1, :, :, 6:])


def test_a_model_that_samples_a_video_in_windows_has_no_second_velocity():
    """It is asked for both prompts in each window, never for all of the video."""
    case = replace(CASES["Wan 2.1 1.3B"], latent=(16, 11, 4, 4))
    model = zoo.build(case)
    prompts = case.conditioning(1, 5), case.conditioning(2, 5)
    latent = zoo.empty_latent(case)
    state = random(6, latent.shape)
    whole = velocities_at(sampling_of(model, 3.0, prompts, latent=latent), STEP, state)
    assert whole.shape == (1, 2, *case.latent)
    inside = windowed(model, "standard_static")
    found = velocities_at(sampling_of(inside, 3.0, prompts, latent=latent), STEP, state)
    assert found.shape == (1, 1, *case.latent)
