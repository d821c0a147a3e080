"""The demo model: the trainable forward pass, the weights, and their use in ComfyUI."""

from functools import partial

import comfy.model_patcher
import comfy.sample
import numpy as np
import pytest
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.nodes.sample.demo import DemoModel, DemoPrompt

from demo import network, sampling, scenes
from demo.differentiable import velocity
from demo.training import Batch, Training, data_velocity, few_steps, student
from demo.training import train as training_data

CAPTION = "two white triangles on plain blue background"


@pytest.fixture(scope="module")
def trained():
    return network.load()


def test_the_trainable_forward_pass_is_that_of_the_class():
    flux = network.build_transformer()
    generator = torch.Generator().manual_seed(0)
    latents = torch.randn(3, *network.LATENT_SHAPE, generator=generator)
    tokens = torch.randn(3, 12, 64, generator=generator)
    pooled = torch.randn(3, 64, generator=generator)
    times = torch.tensor([0.1, 0.5, 0.95])
    with torch.no_grad():
        expected = flux(latents, times, tokens, pooled)
        found = velocity(flux, latents, times, tokens, pooled)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_every_parameter_gets_a_gradient():
    model = network.DemoNetwork()
    out = model(torch.randn(2, *network.LATENT_SHAPE), torch.rand(2), torch.ones(2, 12).long())
    out.square().sum().backward()
    # The text stream ends with the last double block's keys and values for the image; what
    # it computes for itself there still reaches the single blocks.
    assert [n for n, p in model.named_parameters() if p.grad is None] == []


def test_weights_are_small_and_complete(trained):
    assert network.WEIGHTS.stat().st_size < 5e6
    assert sum(p.numel() for p in trained.transformer.parameters()) == 2_304_560


def test_comfyui_samples_what_plain_euler_samples(trained):
    # The whole ComfyUI path (model class, sampling settings, scheduler, guidance, VAE)
    # against a loop of ten lines.
    model, vae, _ = DemoModel.execute().result
    (positive,) = DemoPrompt.execute(CAPTION).result
    (negative,) = DemoPrompt.execute("").result
    steps = 20
    generator = torch.Generator().manual_seed(3)
    noise = torch.randn(1, *network.LATENT_SHAPE, generator=generator)
    latent = torch.zeros(1, 48, 8, 8)
    with torch.inference_mode():
        samples = comfy.sample.sample(
            model, noise, steps, sampling.GUIDANCE, "euler", "simple", positive, negative,
            latent, disable_pbar=True, seed=3,
        )  # fmt: skip
        found = vae.decode(samples)
    expected = sampling.sample(trained, [CAPTION], seed=3, steps=steps)
    assert found.shape == (1, 64, 64, 3)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-3)


def test_the_vae_goes_both_ways():
    vae = comfy_model.DemoVAE()
    rng = np.random.default_rng(7)
    images = np.stack([scenes.render(scenes.sample_scene(rng)) for _ in range(50)])
    error = (vae.decode(vae.encode(torch.from_numpy(images))) - torch.from_numpy(images)).square()
    psnr_db = -10 * error.mean((1, 2, 3)).log10()
    assert psnr_db.mean() > 31  # 48 of 192 components
    assert vae.encode(torch.rand(1, 70, 65, 4)).shape == (1, 48, 8, 8)


def test_the_preview_shows_the_mean_color_of_each_patch():
    latents = comfy_model.DemoLatents()
    vae = comfy_model.DemoVAE()
    image = torch.rand(1, 8, 8, 3) * 0.2 + 0.4
    encoded = vae.encode(image)
    factors = torch.tensor(latents.latent_rgb_factors)  # [48, 3]
    preview = encoded[0, :, 0, 0] @ factors + torch.tensor(latents.latent_rgb_factors_bias)
    expected = vae.decode(encoded).mean((0, 1, 2)) * 2 - 1
    torch.testing.assert_close(preview, expected, rtol=0, atol=1e-3)


def test_comfyui_can_ask_for_a_model_without_dynamic_weights():
    model = comfy_model.load_model()
    factory, arguments = model.cached_patcher_init
    assert type(factory(*arguments, disable_dynamic=True)) is comfy.model_patcher.ModelPatcher


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # torch, bfloat16
def test_a_student_learns_the_guided_velocity_of_its_teacher():
    teacher, learner = network.load(), network.load().requires_grad_(True)
    batch = training_data.batch(teacher.autoencoder, seed=0, size=2, step=0)
    at = batch.times.view(-1, 1, 1, 1)
    states = batch.latents.lerp(batch.noise, at)
    unprompted = torch.tensor([scenes.word_ids("")] * 2)
    with torch.no_grad():
        by_prompt = teacher(states, batch.times, batch.ids)
        by_guidance = by_prompt - teacher(states, batch.times, unprompted)
    expected = by_prompt + 4 * by_guidance  # CFG 5
    found = student.guided(teacher, states, batch)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    training = Training(learner, 1e-4, partial(student.guided, teacher))
    loss = training.learn(learner, batch, 1e-4)  # before the step it is its teacher, in bfloat16
    assert loss == pytest.approx(float((4 * by_guidance).square().mean()), rel=0.05)


def test_a_student_of_few_steps_learns_where_the_teachers_path_goes():
    # Paths of known curvature: the state at noise level s is s * s in every value.
    levels = sampling.sigmas(few_steps.STORED)
    states = (levels * levels).view(1, -1, 1, 1, 1).expand(3, -1, *network.LATENT_SHAPE)
    paths = {"states": states, "ids": torch.arange(36).view(3, 12)}
    batch = few_steps.batch(paths, 4, seed=0, size=32, number=5)
    at = batch.times.view(-1, 1, 1, 1)
    torch.testing.assert_close(
        batch.latents.lerp(batch.noise, at), at.square().expand_as(batch.noise)
    )
    own = sampling.sigmas(4)
    following = own[[own.tolist().index(time) + 1 for time in batch.times.tolist()]]
    # The average velocity from level a to level b is (b² - a²) / (b - a) = a + b.
    expected = (batch.times + following).view(-1, 1, 1, 1).expand_as(batch.noise)
    torch.testing.assert_close(data_velocity(batch.latents, batch), expected)
    assert set(batch.times.tolist()) == set(own[:-1].tolist())  # it is never asked at the image


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # torch, bfloat16
def test_stored_paths_follow_the_guided_velocity(trained, monkeypatch):
    monkeypatch.setattr(few_steps, "PATHS_OF_FILE", 2)
    monkeypatch.setattr(few_steps, "FINER", 1)
    found = few_steps.sampled_paths(trained, seed=3, number=1)
    assert found["states"].shape == (2, few_steps.STORED + 1, *network.LATENT_SHAPE)
    before, after = found["states"][:, 3].float(), found["states"][:, 4].float()
    now, following = sampling.sigmas(few_steps.STORED)[3:5].tolist()
    batch = Batch(before, found["ids"], torch.full((2,), now), before)
    expected = (following - now) * student.guided(trained, before, batch)
    assert (
        after - before - expected
    ).norm() < 0.15 * expected.norm()  # bfloat16, amplified by guidance
    other = few_steps.sampled_paths(trained, seed=3, number=2)
    assert not torch.equal(found["states"][:, 0], other["states"][:, 0])
