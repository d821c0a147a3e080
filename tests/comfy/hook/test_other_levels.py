"""hook/samplers: samplers that tell the model other noise levels than those of their steps."""

import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy.k_diffusion import sampling as k_diffusion
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.run.call_log import BETWEEN, OTHER_LEVELS, UNSURE

from ...support.comfy import by_hand, tiny
from ...support.comfy.sampled import lying
from ...support.zoo import zoo

FULL, CACHED, STEPS = (0, 1, 4), (2, 3, 5, 6, 7), 8


def run(model, sampler, callback=None):
    latent = torch.zeros(1, 16, 8, 8)
    with torch.inference_mode():
        return comfy.sample.sample_custom(
            model, comfy.sample.prepare_noise(latent, 1), 3.0, sampler, zoo.sigmas(model, STEPS),
            tiny.conditioning(1), tiny.conditioning(2), latent, disable_pbar=True, seed=1,
            callback=callback,
        ).clone()  # fmt: skip


def cached(model, sampler, schedule="0,1,4/8", policy=None):
    listener = tiny.Listener()
    found = run(tiny.attach(model, schedule, policy, listener), sampler)
    (record,) = listener.records
    return found, record, listener.steps


@pytest.mark.parametrize("below", [9.0, 0.9, 0.6])
def test_steps_of_one_evaluation_are_known_by_their_order(model, below):
    sampler = lying(below=below)
    found, record, steps = cached(model, sampler)
    assert (record.full_steps, record.cached_steps, record.notes) == (FULL, CACHED, ())
    assert steps == [(n, "full" if n in FULL else "cached") for n in range(STEPS)]
    with by_hand.cached(model, range(STEPS), FULL) as patched:
        assert torch.equal(found, run(patched, sampler))


def test_velocities_are_predicted_at_the_level_that_the_model_is_told(model):
    found, record, _ = cached(model, lying(), policy=Reuse(Site.GUIDED))
    assert (record.full_steps, record.notes) == (FULL, ())
    by_hand_ = by_hand.cached_guidance(model, iter(range(STEPS)), FULL)
    assert torch.equal(found, run(by_hand_, lying()))


@pytest.mark.parametrize("policy", [TwoAnchor(), MeanVelocity(True), Reuse(Site.OUTPUT)], ids=str)
def test_every_kind_of_policy_follows_the_order(model, policy):
    found, record, _ = cached(model, lying(), policy=policy)
    assert (record.full_steps, record.notes) == (FULL, ())
    assert found.isfinite().all()


def test_a_step_planned_as_cached_is_full_before_the_order_is_sure(model):
    # Only after the second step is it known that no step takes two evaluations.
    _, record, steps = cached(model, lying(), "0,4/8")
    assert (record.full_steps, record.notes) == ((0, 1, 4), (UNSURE,))
    assert (1, "refused") in steps


@pytest.mark.parametrize(
    "sampler",
    [lying(k_diffusion.sample_heun), lying(k_diffusion.sample_dpm_2), lying(reports=False)],
    ids=["two evaluations a step", "one between", "steps that nobody reports"],
)
def test_steps_that_cannot_be_told_are_all_full_and_all_counted(model, sampler):
    found, record, _ = cached(model, sampler)
    assert (record.full_steps, record.cached_steps) == (tuple(range(STEPS)), ())
    assert record.notes == (OTHER_LEVELS,)
    assert torch.equal(found, run(model, sampler))


def test_evaluations_between_two_steps_are_not_taken_for_steps(model):
    sampler = comfy.samplers.KSAMPLER(k_diffusion.sample_dpm_2)
    _, record, _ = cached(model, sampler)
    assert (record.full_steps, record.cached_steps, record.notes) == (FULL, CACHED, (BETWEEN,))


def test_an_interrupted_run_counts_the_steps_that_were_done(model):
    listener = tiny.Listener()
    patched = tiny.attach(model, "0,1,4/8", listener=listener)

    def stop(step, *_):
        if step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(patched, lying(), stop)
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps) == ((0, 1), (2,))


@pytest.mark.parametrize("policy", [Reuse(), Reuse(Site.GUIDED)], ids=str)
@pytest.mark.parametrize("sampler", [lying(), lying(k_diffusion.sample_heun, below=0.9)])
def test_all_steps_in_full_and_runs_afterwards_are_those_without_a_cache(model, sampler, policy):
    expected = run(model, sampler)
    for schedule in ("0-7/8", "0,1,4/8"):
        found, _, _ = cached(model, sampler, schedule, policy)
        assert torch.equal(found, expected) or schedule == "0,1,4/8"
        assert torch.equal(run(model, sampler), expected)
