"""hook/starting: a sampler that begins late or ends early takes a part of the schedule."""

import pytest
import torch
from comfy_extras import nodes_custom_sampler, nodes_model_advanced

import nodes

from ...support.comfy import tiny
from ...support.comfy.sampled import (
    grid,
    guided,
    in_parts,
    ksampler,
    latent,
    on_sigmas,
    two_experts,
)

PROMPTS = tiny.conditioning(1), tiny.conditioning(2)
SCHEDULE = "0-2,5,8,11,14,17/20"


def shifted(shift):
    """A FLUX with FLUX's own shift, or a large one: then step 6 of 20 is at 95 % of pure noise."""
    model = tiny.flux()
    return nodes_model_advanced.ModelSamplingFlux().patch(model, shift, shift, 1024, 1024)[0]


@pytest.fixture(scope="module", params=[1.15, 2.1])
def flux(request):
    return shifted(request.param)


@torch.inference_mode()
def advanced(model, begin, end, add_noise="enable", leftover="disable", **changes):
    """The tensor that the node *KSampler (Advanced)* makes of a latent that is no noise."""
    inputs = {"steps": 20, "sampler": "euler", "scheduler": "simple"} | changes
    return nodes.KSamplerAdvanced().sample(
        model, add_noise, 1, inputs["steps"], 1.0, inputs["sampler"], inputs["scheduler"], *PROMPTS,
        latent(seed=3), begin, end, leftover,
    )[0]["samples"]  # fmt: skip


@pytest.mark.parametrize(
    ("begin", "end", "add_noise", "leftover", "own"),
    [
        (1, 10_000, "enable", "disable", "0-1,4,7,10,13,16/19"),
        (6, 10_000, "disable", "disable", "0,2,5,8,11/14"),
        (0, 10, "enable", "enable", "0-2,5,8/10"),
        (0, 10, "enable", "disable", "0-2,5,8/10"),
        (2, 9, "disable", "enable", "0,3,6/7"),
        (10, 15, "enable", "disable", "0-1,4/5"),
    ],
)
def test_a_sampler_takes_the_steps_that_it_runs(flux, begin, end, add_noise, leftover, own):
    listener = tiny.Listener()
    patched = tiny.attach(flux, SCHEDULE, listener=listener)
    found = advanced(patched, begin, end, add_noise, leftover)
    words = f"(steps {begin} to {min(end, 20) - 1} of your schedule {SCHEDULE}: {own})"
    assert words in listener.plans[0]
    assert listener.records[0].notes == ()
    assert torch.equal(found, advanced(tiny.attach(flux, own), begin, end, add_noise, leftover))


@pytest.mark.parametrize(
    ("sampler", "scheduler"),
    [
        ("euler", "normal"), ("uni_pc", "normal"), ("euler", "sgm_uniform"), ("uni_pc", "beta"),
        ("euler", "linear_quadratic"),
    ],
)  # fmt: skip
def test_a_part_is_found_with_each_scheduler(flux, sampler, scheduler):
    listener = tiny.Listener()
    patched = tiny.attach(flux, SCHEDULE, listener=listener)
    advanced(patched, 1, 10_000, sampler=sampler, scheduler=scheduler)
    advanced(patched, 1, 10, sampler=sampler, scheduler=scheduler)
    assert "(steps 1 to 19 of " in listener.plans[0]
    assert "(steps 1 to 9 of " in listener.plans[1]


def test_ddim_uniform_is_found_though_it_makes_one_step_more():
    listener = tiny.Listener()
    patched = tiny.attach(shifted(1.15), "0,2,9,11/13", listener=listener)  # of 12 steps
    advanced(patched, 1, 10, steps=12, scheduler="ddim_uniform")
    assert "(steps 1 to 9 of your schedule" in listener.plans[0]


def test_experts_with_different_shifts_find_their_parts_in_their_own_levels():
    listener = tiny.Listener()
    experts = [tiny.attach(shifted(s), SCHEDULE, listener=listener) for s in (1.15, 2.1)]
    two_experts(*experts, 20, 3)
    assert "(steps 0 to 2 of " in listener.plans[0]
    assert "(steps 3 to 19 of " in listener.plans[1]


def test_split_sigmas_of_another_shift_are_taken_by_their_ends_with_a_note():
    listener = tiny.Listener()
    high, low = shifted(2.1), shifted(1.15)
    patched = [tiny.attach(m, SCHEDULE, listener=listener) for m in (high, low)]
    in_parts(patched, grid(high, 20), 8)
    assert "(steps 0 to 7 of " in listener.plans[0]
    assert "(steps 8 to 19 of " in listener.plans[1]
    ((), (note,)) = (record.notes for record in listener.records)
    assert note.endswith("so the run counts as the last 12 of them")


def test_split_sigmas_by_denoise_with_new_noise_find_their_part(flux):
    listener = tiny.Listener()
    _, low = nodes_custom_sampler.SplitSigmasDenoise.execute(grid(flux, 20), 0.9).result
    on_sigmas(guided(tiny.attach(flux, SCHEDULE, listener=listener)), low)
    assert "(steps 2 to 19 of " in listener.plans[0]


@pytest.mark.parametrize(
    ("steps", "denoise", "words"),
    [
        (20, 0.5, f"(your schedule: {SCHEDULE})"),  # the last 20 steps of 40 are as many
        (12, 0.6, "(steps 8 to 19 of your schedule"),  # the last 12 steps of 20
        (8, 0.5, "(steps 12 to 19 of your schedule"),  # the last 8 steps of 16: by where they end
    ],
)
def test_image_to_image_with_denoise_keeps_its_schedule(flux, steps, denoise, words):
    listener = tiny.Listener()
    patched = tiny.attach(flux, SCHEDULE, listener=listener)
    ksampler(patched, latent(seed=3), steps=steps, denoise=denoise)
    assert words in listener.plans[0]


@pytest.mark.parametrize("steps", [2, 10, 18, 19])
def test_all_steps_of_a_shorter_run_are_no_part(flux, steps):
    patched = tiny.attach(flux, SCHEDULE)
    with pytest.raises(ValueError, match=f"covers 20 steps but the sampler runs {steps}; set the"):
        ksampler(patched, steps=steps)
