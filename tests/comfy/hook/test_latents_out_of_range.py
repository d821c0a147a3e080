"""run/latent_range: runs whose latents leave their range or are no numbers are told, no others.

FLUX is a flow model; with the noise levels of an EPS model its latents are as large as the noise.
"""

import itertools
import math

import comfy.model_sampling
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.run.latent_range import ALREADY_BEFORE

from ...support.comfy import tiny
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

SCHEDULE = "0,1,3/6"
VELOCITIES = Reuse(Site.GUIDED)


class Eps(comfy.model_sampling.ModelSamplingDiscrete, comfy.model_sampling.EPS):
    """The noise levels of Stable Diffusion, 14.6 at the most."""


def eps(model):
    patched = model.clone()
    patched.add_object_patch("model_sampling", Eps(model.model.model_config))
    return patched


@pytest.fixture(params=["flow", "EPS"])
def either(request, model):
    return eps(model) if request.param == "EPS" else model


def of_unit_noise(model):
    """A clone that denoises as is best for images that are noise of variance 1."""
    is_flow = not isinstance(model.get_model_object("model_sampling"), Eps)

    def denoised(apply_model, call):
        sigma = call["timestep"].view(-1, 1, 1, 1)
        share = 1 - sigma if is_flow else torch.ones_like(sigma)
        return call["input"] * share / (share**2 + sigma**2)

    patched = model.clone()
    patched.set_model_unet_function_wrapper(denoised)
    return patched


def weights(factor):
    """Velocity reuse times a factor."""
    return Fitted(SCHEDULE, tuple((n, ((n - 1 - (n == 5), factor),)) for n in (2, 4, 5)))


def broken_at(model, evaluation, value=math.nan):
    """A clone that gives a value in the place of one evaluation's result."""
    numbers = itertools.count()

    def predict(executor, x, *args, **kwargs):
        denoised = executor(x, *args, **kwargs)
        return denoised * value if next(numbers) == evaluation else denoised

    patched = model.clone()
    patched.add_wrapper(WrappersMP.PREDICT_NOISE, predict)
    return patched


def notes(model, policy=VELOCITIES, sampled=tiny.sample, **kwargs):
    """Notes on a run, but for the one that weights without conditions always get."""
    listener = tiny.Listener()
    sampled(tiny.attach(model, SCHEDULE, policy, listener), 6, **kwargs)
    return tuple(n for n in listener.records[0].notes if "do not say for which" not in n)


def test_an_honest_run_says_nothing(either):
    assert notes(either) == notes(either, Reuse()) == ()


def test_weights_that_are_not_too_large_say_nothing(either):
    assert notes(of_unit_noise(either), weights(1)) == notes(of_unit_noise(either)) == ()


@pytest.mark.parametrize("factor", [10, 1000])
def test_weights_many_times_too_large_are_told(either, factor):
    (note,) = notes(of_unit_noise(either), weights(factor))
    assert note.startswith("the latents left their range at step 2 (cached): they were")


def test_weights_that_overflow_are_told_as_not_finite(either):
    (note,) = notes(either, weights(1e300))
    assert note.startswith("the latents are not finite from step 2 (cached) on; let more")


def test_a_model_that_overflows_before_a_cached_step_is_not_laid_to_the_cache(either):
    (note,) = notes(broken_at(either, 1))
    assert note.startswith("the latents are not finite from step 1 (full) on, so the cache did not")


def test_a_model_that_overflows_after_a_cached_step_may_be_its_fault(either):
    (note,) = notes(broken_at(either, 3))
    assert note.startswith("the latents are not finite from step 3 (full after cached ones) on")


def test_noise_that_is_no_number_is_not_laid_to_the_cache(model):
    assert ALREADY_BEFORE in notes(model, noise=torch.full((1, 16, 8, 8), math.nan))


@pytest.mark.skipif("LTX-2" not in CASES, reason="this ComfyUI has no LTX-2")
def test_sound_that_leaves_its_range_beside_a_sound_video_is_told():
    case, listener = CASES["LTX-2"], tiny.Listener()
    model, length = zoo.build(case), math.prod(case.latent[1])

    def loud(executor, x, timestep, *args, **kwargs):
        denoised = executor(x, timestep, *args, **kwargs)
        if len(seen) == 2:  # the last coordinates are the sound's
            denoised[..., -length:] *= 30
        seen.append(timestep)
        return denoised

    seen = []
    model.add_wrapper(WrappersMP.PREDICT_NOISE, loud)
    zoo.sample(case, tiny.attach(model, "0,1/4", VELOCITIES, listener), steps=4)
    (note,) = listener.records[0].notes  # the wrapper is around the cache, so the next step sees it
    assert note.startswith("the latents left their range at step 3 (cached)")
