"""cache/plan_schedule: a plan and its policy are for the conditions of their calibration."""

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.paths.library import NONE
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.nodes.cache.plan_schedule import PlanSchedule

from ...support.comfy import tiny
from ...support.comfy.calibrate_nodes import with_lora
from ...support.comfy.planned import NEED_NONE, STEPS, calibrate, plan
from ...support.zoo import zoo, zoo_images

pytestmark = pytest.mark.usefixtures("user")


def test_another_calibration_or_none_is_refused(model):
    levels = calibrate(model)
    assert "DPCache needs costs of jumps of your model" in PlanSchedule.validate_inputs(
        method="DPCache", calibration=NONE
    )
    assert "no calibration 'gone'" in PlanSchedule.validate_inputs(
        method="MeanCache", calibration="gone"
    )
    assert "'SeaCache' is not a planned method" in PlanSchedule.validate_inputs(
        method="SeaCache", calibration=NONE
    )
    for method in NEED_NONE:
        assert PlanSchedule.validate_inputs(method=method, calibration=NONE) is True
    with pytest.raises(ValueError, match="for 12 steps, this plan is for 20; set the same step"):
        plan("DPCache", steps=20)
    with pytest.raises(ValueError, match=r"calibrated with the noise levels .*, this run has 0"):
        plan("DPCache", full=6, sigmas=torch.linspace(1, 0, STEPS + 1) ** 3)
    assert plan("DPCache", full=6, sigmas=levels)[0] == plan("DPCache", full=6)[0]


def with_patch(model):
    patched = model.clone()
    patched.set_model_sampler_cfg_function(lambda args: args["cond"])
    return patched


OTHERS = {
    "with the family FLUX, this run has Qwen-Image": lambda model: zoo.build(
        next(case for case in zoo_images.CASES if case.name == "Qwen-Image")
    ),
    "with the model of that time, this run has another": lambda model: tiny.flux(depth=1),
    "with other weights or patches of the model, such as a LoRA;": with_lora,
    "with the model patches of that time, this run has another": with_patch,
}


@pytest.mark.parametrize("named", OTHERS)
@pytest.mark.parametrize("method", ["L2P", "MeanCache", "BudCache"])
def test_a_connected_model_must_be_that_of_the_calibration(model, method, named):
    calibrate(model)
    assert plan(method, model=tiny.attach(model, "0/8"))[0] == plan(method)[0]
    with pytest.raises(ValueError, match=f"{method} was calibrated {named}.*made for this run"):
        plan(method, model=OTHERS[named](model))


@pytest.mark.parametrize(
    ("named", "changes"),
    [
        ("cfg 3.0, this run has 1.0", {"cfg": 1.0}),
        ("noise levels 1.0, this run has 0.9", {"noise_levels": lambda levels: 0.9 * levels}),
    ],
)
@pytest.mark.parametrize("method", ["L2P", "L2P (full steps only)"])
def test_a_run_with_other_guidance_or_noise_levels_than_the_weights_of_l2p_is_refused(
    model, method, named, changes
):
    levels = calibrate(model)
    schedule, policy, _ = plan(method)
    listener = tiny.Listener()
    with pytest.raises(ValueError, match=f"causal linear was calibrated with the {named}"):
        sampled(tiny.attach(model, schedule, policy, listener), levels, **changes)
    assert (listener.plans, listener.steps, listener.records) == ([], [], [])
    # Without a cached step nothing is predicted.
    sampled(tiny.attach(model, "0-11/12", policy), levels, **changes)


def test_a_run_of_a_model_of_another_configuration_is_refused_too(model):
    calibrate(model)
    schedule, policy, _ = plan("L2P")
    with pytest.raises(ValueError, match="causal linear was calibrated with the model of that"):
        tiny.sample(tiny.attach(tiny.flux(depth=1), schedule, policy), steps=STEPS)


def sampled(model, levels, cfg=3.0, size=8, sampler="euler", noise_levels=lambda levels: levels):
    guider = comfy.samplers.CFGGuider(model)
    guider.set_conds(tiny.conditioning(1), tiny.conditioning(2))
    guider.set_cfg(cfg)
    noise = torch.randn(1, 16, size, size, generator=torch.Generator().manual_seed(1))
    sampler = comfy.samplers.sampler_object(sampler)
    with torch.inference_mode():
        guider.sample(
            noise, torch.zeros_like(noise), sampler, noise_levels(levels), disable_pbar=True
        )


def test_what_else_differs_from_the_calibration_of_l2p_is_one_note(model):
    levels = calibrate(model)
    schedule, policy, _ = plan("L2P")

    def notes(other, **changes):
        listener = tiny.Listener()
        sampled(tiny.attach(other, schedule, policy, listener), levels, **changes)
        return listener.records[0].notes

    assert notes(model) == ()
    (note,) = notes(with_lora(model), size=12, sampler="dpmpp_2m")
    assert note == (
        "this run differs from the calibration of causal linear (other weights or patches of the "
        "model, such as a LoRA; another sampler; another size), so what was measured there may fit "
        "less well"
    )


def test_weights_whose_conditions_are_not_known_are_taken_as_they_are(model):
    levels = calibrate(model)
    _, fitted, _ = plan("L2P")
    for conditions in ({}, {"family": "FLUX"}, {"schedule": "0-2,6,11/12"}):
        listener = tiny.Listener()
        policy = CausalLinear(fitted.matrix, conditions)
        sampled(tiny.attach(model, "0-2,6,11/12", policy, listener), levels, cfg=1.0, size=12)
        assert listener.records[0].notes == ()
        assert len(listener.records[0].cached_steps) == 7
