"""hook/starting: promises are met for all steps, schedulers, sizes, batches and models."""

import dataclasses

import comfy.context_windows
import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy_extras import (
    nodes_model_advanced,
    nodes_optimalsteps,
)
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity

import nodes

from ...support.comfy import tiny
from ...support.comfy.sampled import (
    BLOCKS,
    advice,
    balanced,
    guided,
    ksampler,
    latent,
    on_sigmas,
    spaced,
    windowed,
)
from ...support.zoo import zoo, zoo_videos

# Balanced caches round(0.74 N) steps but leaves at least five, of four three.
BALANCED = {4: 3, 8: 5, 20: 5, 28: 7, 50: 13}


def other_weights():
    """A FLUX like the others with other weights."""
    model = tiny.flux()
    zoo.randomize(model.model.diffusion_model, seed=1)
    return model


# --- step counts and schedulers -------------------------------------------------------------------


def test_noise_levels_without_a_step_give_what_they_give_without_the_node(model):
    listener, level = tiny.Listener(), torch.tensor([1.0])
    found = on_sigmas(guided(balanced(model, listener)), level)
    assert torch.equal(found["samples"], on_sigmas(guided(model), level)["samples"])
    assert not listener.records


@pytest.mark.parametrize(
    ("steps", "scheduler"),
    [(4, "simple"), (8, "karras"), (20, "normal"), (28, "beta"), (50, "simple")],
)
def test_a_speed_keeps_its_promise_at_any_step_count(model, monkeypatch, steps, scheduler):
    listener = tiny.Listener()
    with tiny.counted_blocks(monkeypatch) as count:
        ksampler(balanced(model, listener), steps=steps, scheduler=scheduler)
    (record,) = listener.records
    full = spaced(model, record, BALANCED[steps])
    assert (record.full_steps, record.notes) == (full, advice(steps))
    assert count[0] == BALANCED[steps] * BLOCKS
    assert listener.plans[0].startswith(f"FLUX: {BALANCED[steps]} of {steps} steps full (")


@pytest.mark.parametrize("scheduler", comfy.samplers.SCHEDULER_NAMES)
def test_every_scheduler_meets_the_promise(model, scheduler):
    listener = tiny.Listener()
    ksampler(balanced(model, listener), steps=20, scheduler=scheduler)
    (record,) = listener.records
    assert record.full_steps == spaced(model, record, BALANCED[20])


@pytest.mark.parametrize(
    ("scheduler", "asked", "steps", "num_full"),
    [
        ("ddim_uniform", 7, 8, 5),
        ("ddim_uniform", 28, 29, 8),  # round(0.74 * 29) = 21 cached
        ("beta", 150, 149, 39),  # round(0.74 * 149) = 110 cached
    ],
)
def test_the_promise_counts_the_steps_that_the_scheduler_really_gives(
    model, monkeypatch, scheduler, asked, steps, num_full
):
    if scheduler == "beta":  # merges steps where the model knows only 1000 noise levels
        (model,) = nodes_model_advanced.ModelSamplingAuraFlow().patch_aura(model, 1.0)
    listener = tiny.Listener()
    with tiny.counted_blocks(monkeypatch) as count:
        ksampler(balanced(model, listener), steps=asked, scheduler=scheduler)
    (record,) = listener.records
    assert len(record.full_steps) + len(record.cached_steps) == len(record.sigmas) - 1 == steps
    assert (len(record.full_steps), record.notes) == (num_full, advice(steps))
    assert count[0] == num_full * BLOCKS


@pytest.mark.parametrize(
    ("sigmas", "full"),
    [
        (torch.tensor([1.0, 0.97, 0.7, 0.69, 0.5, 0.2, 0.15, 0.01, 0.0]), BALANCED[8]),
        (torch.tensor([0.6, 0.5, 0.45, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1]), 4),  # half of 16
        # Levels closer than three tolerances of the step search, which takes the nearest.
        (torch.tensor([1 - 0.0003 * n for n in range(20)] + [0.0]), BALANCED[20]),
        # 10 steps: 3 would be full, 5 have to be.
        (nodes_optimalsteps.OptimalStepsScheduler.execute("FLUX", 10, 1.0)[0], 5),
        (torch.tensor([1.0, 0.0]), 1),
    ],
    ids=["uneven", "part of the way", "fine", "optimal steps", "one step"],
)
def test_explicit_sigmas_meet_the_promise(model, monkeypatch, sigmas, full):
    listener = tiny.Listener()
    with tiny.counted_blocks(monkeypatch) as count:
        on_sigmas(guided(balanced(model, listener)), sigmas)
    (record,) = listener.records
    assert record.full_steps == spaced(model, record, full)
    assert record.notes == advice(len(sigmas) - 1)
    assert count[0] == full * BLOCKS


@pytest.mark.parametrize(
    ("levels", "where"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], "step 0 (0.1 to 0.2)"),
        ([1.0, 0.9, 0.7, 0.7, 0.7, 0.5, 0.4, 0.2, 0.0], "step 2 (0.7 to 0.7)"),
    ],
    ids=["rising", "repeated"],
)
def test_noise_levels_that_do_not_fall_are_named_and_computed_in_full(model, levels, where):
    listener, sigmas = tiny.Listener(), torch.tensor(levels)
    found = on_sigmas(guided(balanced(model, listener)), sigmas)
    assert torch.equal(found["samples"], on_sigmas(guided(model), sigmas)["samples"])
    refusal = f"the noise levels do not fall at {where}"
    assert (listener.plans, listener.refusals) == ([], [refusal])
    (record,) = listener.records
    assert (len(record.full_seconds), record.cached_steps, record.notes) == (
        8,
        (),
        (f"this node caches nothing: {refusal}",),
    )


# --- latents that are not empty -------------------------------------------------------------------


def test_image_to_image_counts_its_own_steps(model, monkeypatch):
    # KSampler takes the last 20 of 40 noise levels.
    listener = tiny.Listener()
    with tiny.counted_blocks(monkeypatch) as count:
        ksampler(balanced(model, listener), latent(seed=3), steps=20, denoise=0.5)
    (record,) = listener.records
    assert record.sigmas[0] < 0.9
    assert (record.full_steps, record.notes) == (spaced(model, record, BALANCED[20]), ())
    assert count[0] == BALANCED[20] * BLOCKS


@pytest.mark.parametrize(
    "policy", [Reuse(), Reuse(Site.OUTPUT), Reuse(Site.GUIDED), MeanVelocity()], ids=str
)
def test_inpainting_leaves_what_is_not_masked_as_it_was(model, policy):
    mask = torch.zeros(1, 1, 8, 8)
    mask[..., 4:] = 1
    original = latent(seed=3)
    start = original | {"noise_mask": mask}
    listener = tiny.Listener()
    found = ksampler(tiny.attach(model, "0,1,4/8", policy, listener), start)["samples"]
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps) == ((0, 1, 4), (2, 3, 5, 6, 7))
    assert record.notes == ()
    plain = ksampler(model, start)["samples"]
    assert torch.equal(found[..., :4], plain[..., :4])
    # The sampler scales the latent, adds noise to it and takes both away again.
    torch.testing.assert_close(found[..., :4], original["samples"][..., :4], rtol=1e-4, atol=1e-4)
    assert not torch.equal(found[..., 4:], plain[..., 4:])


# --- sizes and batches ----------------------------------------------------------------------------


def test_a_batch_may_change_between_runs(model, monkeypatch):
    listener = tiny.Listener()
    patched = tiny.attach(model, "0,1,4/8", listener=listener)
    for batch in (1, 2, 4, 2, 1):
        with tiny.counted_blocks(monkeypatch) as count:
            found = ksampler(patched, latent(batch))["samples"]
        assert count[0] == 3 * BLOCKS
        assert torch.equal(found, ksampler(tiny.attach(model, "0,1,4/8"), latent(batch))["samples"])
    assert [r.full_steps for r in listener.records] == [(0, 1, 4)] * 5
    assert [r.notes for r in listener.records] == [()] * 5
    # One residual of 16 tokens of 64 float32 channels for each image and prompt.
    assert [r.cache_bytes for r in listener.records] == [n * 2 * 4096 for n in (1, 2, 4, 2, 1)]


@pytest.mark.parametrize("schedule", ["0,1,4/8", None], ids=["custom", "Balanced"])
def test_hires_fix_caches_each_pass_on_its_own(model, monkeypatch, schedule):
    listener = tiny.Listener()

    def attach():
        if schedule is None:
            return balanced(model, listener)
        return tiny.attach(model, schedule, listener=listener)

    patched = attach()
    with tiny.counted_blocks(monkeypatch) as count:
        small = ksampler(patched)
        (enlarged,) = nodes.LatentUpscaleBy().upscale(small, "nearest-exact", 2.0)
        large = ksampler(patched, enlarged, denoise=0.5)["samples"]
    assert large.shape == (1, 16, 16, 16)
    # The second pass is half of 16 steps, whose steps are smaller.
    counts, notes = ((BALANCED[8], 4), advice(8)) if schedule is None else ((3, 3), ())
    for record, num_full in zip(listener.records, counts, strict=True):
        full = spaced(model, record, num_full) if schedule is None else (0, 1, 4)
        assert (record.full_steps, record.notes) == (full, notes)
    assert count[0] == sum(counts) * BLOCKS
    assert torch.equal(large, ksampler(attach(), enlarged, denoise=0.5)["samples"])


# --- two models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 3])  # the step after it is cached, full
def test_a_model_sampled_in_the_middle_of_another_run_does_not_mix(model, step):
    other = other_weights()
    expected = tiny.sample(tiny.attach(model, "0,1,4/8"))
    expected_other = tiny.sample(tiny.attach(other, "0,3/8"))
    inner = []

    def interleave(current, x0, x, total):
        if current == step:
            inner.append(tiny.sample(tiny.attach(other, "0,3/8")))

    found = tiny.sample(tiny.attach(model, "0,1,4/8"), callback=interleave)
    assert torch.equal(found, expected)
    assert torch.equal(inner[0], expected_other)


# --- context windows ------------------------------------------------------------------------------

LAYERS = 3  # of the tiny Wan


@pytest.fixture(scope="module")
def video():
    """A tiny Wan with a video of 11 latent frames."""
    (case,) = (case for case in zoo_videos.CASES if case.name == "Wan 2.1 1.3B")
    case = dataclasses.replace(case, latent=(16, 11, 4, 4))
    return case, zoo.build(case)


def count_blocks(model):
    """Counts calls of the transformer blocks until it is removed."""
    count = [0]

    def hook(*args):
        count[0] += 1

    handles = [b.register_forward_hook(hook) for b in model.model.diffusion_model.blocks]
    return count, handles


@pytest.mark.parametrize("policy", [Reuse(), Reuse(Site.OUTPUT), Reuse(Site.GUIDED)], ids=str)
def test_fixed_context_windows_are_cached_apart(video, policy):
    case, model = video
    static = windowed(model, "standard_static")  # frames 0-4, 3-7, 6-10
    listener = tiny.Listener()
    count, handles = count_blocks(model)
    (found,) = zoo.sample(case, tiny.attach(static, "0,1,4/8", policy, listener))
    for handle in handles:
        handle.remove()
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps) == ((0, 1, 4), (2, 3, 5, 6, 7))
    assert record.notes == ()
    assert count[0] == 3 * 3 * LAYERS
    if policy.site is not Site.STACK:
        # Windows are fused linearly, so this is Euler with fewer steps, summed one by one.
        sampling = model.get_model_object("model_sampling")
        sigmas = comfy.samplers.calculate_sigmas(sampling, "simple", 8)[[0, 1, 4, 8]]
        (coarser,) = zoo.sample(case, static, sigmas=sigmas)
        torch.testing.assert_close(found, coarser, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("policy", [Reuse(), Reuse(Site.OUTPUT)], ids=str)
def test_a_context_window_that_moved_is_computed_in_full(video, policy):
    case, model = video
    moving = windowed(model, "standard_uniform")
    handler = moving.model_options["context_handler"]
    windows = []
    for step in range(8):
        handler._step = step
        at_step = comfy.context_windows.create_windows_uniform_standard(11, handler, {})
        windows.append({tuple(window) for window in at_step})
    # From one planned full step to the next, each window is computed once.
    computed = sum(len(set.union(*windows[a:b])) for a, b in ((0, 4), (4, 8)))
    assert computed > len(windows[0]) + len(windows[4])
    assert computed < sum(map(len, windows))
    listener = tiny.Listener()
    count, handles = count_blocks(model)
    zoo.sample(case, tiny.attach(moving, "0,4/8", policy, listener))
    for handle in handles:
        handle.remove()
    assert count[0] == computed * LAYERS
    assert "steps were computed in full because a branch had no anchor yet" in (
        listener.records[0].notes
    )
