"""The video model: shapes, weights, training that resumes, and its use in ComfyUI."""

import argparse
import copy
from functools import partial

import comfy.model_management
import comfy.sample
import pytest
import torch
from golden_path_pack.demo.video import comfy_model
from golden_path_pack.nodes.sample.demo import HIGH, LOW, VIDEO, DemoModel

from demo import sampling
from demo.training import Task, Training, growing_ema, run_training
from demo.video import evaluate, network
from demo.video import train as video_training

CAPTION = "red circle moves left on plain blue background"


@pytest.fixture(scope="module")
def random():
    """A network whose every parameter has an effect, with the autoencoder of the scenes."""
    torch.manual_seed(0)
    model = network.VideoNetwork()
    video_training.initialize(model, clips=40)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator)
    return model


@pytest.fixture(scope="module")
def weights(random, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "video.safetensors"
    network.save(random, path)
    return path


def test_the_trainable_forward_pass_is_that_of_the_class(random):
    # Its attention is written out, and it has the positions of one size of clips.
    generator = torch.Generator().manual_seed(0)
    latents = torch.randn(3, *network.LATENT_SHAPE, generator=generator)
    ids = torch.randint(0, 20, (3, 12), generator=generator)
    times = torch.tensor([0.1, 0.5, 0.95])
    with torch.no_grad():
        expected = random.transformer(latents, 1000 * times, random.words(ids)[0])
        found = random(latents, times, ids)
        with network.gradients():
            in_training = random(latents, times, ids)
    assert found.shape == (3, 32, 4, 8, 8)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(in_training, expected, rtol=1e-4, atol=1e-4)


def test_every_parameter_gets_a_gradient(random):
    with network.gradients():
        out = random(torch.randn(2, *network.LATENT_SHAPE), torch.rand(2), torch.ones(2, 12).long())
        out.square().sum().backward()
    assert not comfy.model_management.in_training
    missing = [name for name, p in random.named_parameters() if p.grad is None]
    random.zero_grad()
    assert missing == []


def test_weights_are_small_and_come_back(random, weights):
    assert weights.stat().st_size < 8e6
    loaded = network.load(weights)
    for name, tensor in random.state_dict().items():
        tolerance = 0 if name.startswith("autoencoder.") else 1 / 256  # bfloat16 rounds
        torch.testing.assert_close(loaded.state_dict()[name], tensor, rtol=tolerance, atol=0)


def options(folder, steps):
    return argparse.Namespace(
        out=folder, total=2 * steps, batch=2, lr=1e-3, save_every=2, compile=False, workers=0
    )


def short_training(start, folder, steps):
    folder.mkdir(exist_ok=True)
    model = copy.deepcopy(start)
    task = Task(
        samples="clips",
        batch=partial(video_training.batch, start.autoencoder, 0, 2),
        save=network.save,
        sheet=lambda model, path: None,
        weights="weights.safetensors",
    )
    training = Training(model, 1e-3)
    with network.gradients():
        run_training(training, task, options(folder, steps))
    return training


@pytest.mark.long
def test_a_training_that_was_interrupted_ends_as_one_that_was_not(random, tmp_path):
    whole = short_training(random, tmp_path / "whole", 4)
    short_training(random, tmp_path / "parts", 2)
    resumed = short_training(random, tmp_path / "parts", 4)
    assert resumed.step == whole.step == 4
    for part in ("model", "average"):
        found, expected = getattr(resumed, part).state_dict(), getattr(whole, part).state_dict()
        assert all(torch.equal(found[name], expected[name]) for name in expected)
    network.load(tmp_path / "parts" / "weights.safetensors")


@pytest.mark.parametrize(("steps", "kept"), [(0, 1 / 10), (90, 91 / 100), (10**6, 0.999)])
def test_the_running_average_forgets_less_with_every_step(steps, kept):
    average = [torch.ones(2)]
    growing_ema(average, [torch.zeros(2)], torch.tensor(steps))
    torch.testing.assert_close(average[0], torch.full((2,), kept))


def test_an_expert_sees_its_part_of_the_noise_levels_alone(random):
    times = video_training.batch(random.autoencoder, 0, 3, 0, network.EXPERTS["high"]).times
    assert times.min() >= network.BOUNDARY - 1e-6
    times = video_training.batch(random.autoencoder, 0, 3, 0, network.EXPERTS["low"]).times
    assert times.max() <= network.BOUNDARY + 1e-6


def test_experts_share_the_steps_evenly(random):
    class Counting(torch.nn.Module):
        autoencoder = random.autoencoder
        calls = 0

        def forward(self, latents, times, ids):
            self.calls += 1
            return torch.zeros_like(latents)

    experts = network.Experts(Counting(), Counting())
    clips = sampling.sample(experts, [CAPTION], seed=0, steps=20)
    assert clips.shape == (1, 13, 64, 64, 3)
    assert (experts.high.calls, experts.low.calls) == (10, 10)


def inputs_of(clip):
    """Positive and negative conditioning, and the noise of a run with seed 3."""
    generator = torch.Generator().manual_seed(3)
    noise = torch.randn(1, *network.LATENT_SHAPE, generator=generator)
    tokens = (clip.tokenize(text) for text in (CAPTION, ""))
    return *map(clip.encode_from_tokens_scheduled, tokens), noise


def test_comfyui_samples_what_plain_euler_samples(random, weights):
    model, vae = comfy_model.load_model(weights), comfy_model.VideoVAE(weights)
    clip = comfy_model.load_clip(weights)
    positive, negative, noise = inputs_of(clip)
    # What the node *EmptyHunyuanLatentVideo* makes for 13 frames of 64 by 64 pixels.
    latent = comfy.sample.fix_empty_latent_channels(model, torch.zeros(1, 16, 4, 8, 8), 8, 4)
    assert latent.shape == noise.shape
    steps = 8
    with torch.inference_mode():
        samples = comfy.sample.sample(
            model, noise, steps, sampling.GUIDANCE, "euler", "simple", positive, negative,
            latent, disable_pbar=True, seed=3,
        )  # fmt: skip
        found = vae.decode(samples)
    expected = sampling.sample(network.load(weights), [CAPTION], seed=3, steps=steps)
    assert found.shape == (1, 13, 64, 64, 3)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-3)
    assert found.std() > 0.05


def test_the_vae_encodes_frames(weights):
    vae = comfy_model.VideoVAE(weights)
    frames = torch.rand(14, 70, 65, 4)
    assert vae.encode(frames).shape == (1, 32, 4, 8, 8)


def test_the_preview_shows_the_mean_color_of_each_patch(weights):
    latents, vae = comfy_model.VideoLatents(weights), comfy_model.VideoVAE(weights)
    encoded = vae.encode(torch.rand(1, 8, 8, 3) * 0.2 + 0.4)
    factors = torch.tensor(latents.latent_rgb_factors)  # [32, 3]
    preview = encoded[0, :, 0, 0, 0] @ factors + torch.tensor(latents.latent_rgb_factors_bias)
    expected = vae.decode(encoded).mean((0, 1, 2, 3)) * 2 - 1
    torch.testing.assert_close(preview, expected, rtol=0, atol=1e-3)


@pytest.fixture(scope="module")
def trained():
    return network.load()


def test_the_node_gives_a_model_that_samples_what_plain_euler_samples(trained):
    model, vae, clip = DemoModel.execute(VIDEO).result
    positive, negative, noise = inputs_of(clip)
    with torch.inference_mode():
        samples = comfy.sample.sample(
            model, noise, 20, sampling.GUIDANCE, "euler", "simple", positive, negative,
            torch.zeros_like(noise), disable_pbar=True, seed=3,
        )  # fmt: skip
        found = vae.decode(samples)
    expected = sampling.sample(trained, [CAPTION], seed=3, steps=20)
    assert found.shape == (1, 13, 64, 64, 3)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-3)


@pytest.mark.long
def test_the_weights_are_small_and_draw_what_captions_say(trained):
    assert network.WEIGHTS.stat().st_size < 8e6
    drawn = [clip for clip in evaluate.held_out(40) if evaluate.kind(clip) == "moves"][:8]
    clips = sampling.sample(trained, [clip.caption for clip in drawn], seed=0, steps=20)
    verdicts = [
        evaluate.judge(clip.numpy(), scene) for clip, scene in zip(clips, drawn, strict=True)
    ]
    found = evaluate.rates(verdicts)
    assert min(found["colors"], found["motion"]) >= 0.75  # of eight; the card has 300


def test_unknown_words_are_refused_with_the_vocabulary():
    *_, clip = DemoModel.execute(VIDEO).result
    with pytest.raises(ValueError, match=r"banana.*circle"):
        clip.tokenize("red banana moves left on plain blue background")


@pytest.mark.long
def test_two_experts_sample_one_after_the_other_what_plain_euler_samples():
    (high, vae, clip), (low, *_) = (DemoModel.execute(kind).result for kind in (HIGH, LOW))
    positive, negative, noise = inputs_of(clip)
    # As two KSampler (Advanced) with 20 steps do it: the first leaves its noise to the second.
    rest = {"sampler_name": "euler", "scheduler": "simple", "positive": positive,
            "negative": negative, "disable_pbar": True, "seed": 3}  # fmt: skip
    with torch.inference_mode():
        half = comfy.sample.sample(
            high, noise, 20, sampling.GUIDANCE, latent_image=torch.zeros_like(noise), last_step=10,
            start_step=0, force_full_denoise=False, **rest,
        )  # fmt: skip
        samples = comfy.sample.sample(
            low, torch.zeros_like(noise), 20, sampling.GUIDANCE, latent_image=half, start_step=10,
            last_step=20, disable_noise=True, force_full_denoise=True, **rest,
        )  # fmt: skip
    experts = network.Experts(*(network.load(network.WEIGHTS_OF[name]) for name in ("high", "low")))
    expected = sampling.sample(experts, [CAPTION], seed=3, steps=20)
    torch.testing.assert_close(vae.decode(samples), expected, rtol=0, atol=2e-3)


@pytest.mark.parametrize("name", network.EXPERTS)
def test_an_expert_differs_from_the_base_model_in_its_transformer_alone(trained, name):
    base, expert = trained.state_dict(), network.load(network.WEIGHTS_OF[name]).state_dict()
    changed = {key.split(".")[0] for key in base if not torch.equal(base[key], expert[key])}
    assert changed == {"transformer"}
