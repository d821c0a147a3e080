"""Plan Schedule with a calibration, up to runs of a tiny FLUX."""

import comfy.model_management
import pytest
import torch
from golden_path_pack.gph_core.methods.planned import PLANNED
from golden_path_pack.gph_core.paths.library import NONE
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.gph_core.policies.extrapolation import TokenTaylor
from golden_path_pack.gph_core.policies.linear_fit import fit, gram
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.schedule import Schedule

from ...support.comfy import tiny
from ...support.comfy.planned import STEPS, calibrate, plan
from ...support.zoo import zoo, zoo_images

pytestmark = pytest.mark.usefixtures("user")


def run(model, schedule, policy, listener=None):
    """The record of a run as Golden Path Cache makes it with the speed Custom."""
    listener = tiny.Listener()
    tiny.sample(tiny.attach(model, schedule, policy, listener), steps=STEPS)
    assert listener.refusals == []
    return listener.records[0]


@pytest.mark.parametrize("method", PLANNED)
@pytest.mark.parametrize("full", [5, 8])
def test_each_planned_method_runs_with_just_as_many_full_steps(model, method, full):
    calibrate(model)
    if (method, full) == ("BudCache", 8):
        with pytest.raises(ValueError, match="no schedule of 8 full steps for this model"):
            plan(method, full=full)
        return
    name = "long" if (PLANNED[method].name, full) == ("DPCache", 5) else "mine"
    if name == "long":
        calibrate(model, max_jump=STEPS, name=name)
    schedule, policy, text = plan(method, full=full, calibration=name)
    record = run(model, schedule, policy)
    assert len(record.full_steps) == full
    assert str(record.realized) == schedule
    risk = policy.risk(record.realized)
    assert record.notes == ((risk,) if risk else ())
    has_cost = PLANNED[method].name in ("L2P", "DPCache", "MeanCache")
    assert ("comparable only with plans" in text) == has_cost


@pytest.mark.parametrize("method", ["TaylorSeer", "L2P", "DPCache", "MeanCache"])
def test_a_planned_method_tells_prompts_apart_in_one_call_and_in_two(model, method, monkeypatch):
    calibrate(model, max_jump=STEPS)
    schedule, policy, _ = plan(method)
    patched, batches = tiny.attach(model, schedule, policy), []

    def size_of(apply_model, parts):
        batches.append(len(parts["input"]))
        return apply_model(parts["input"], parts["timestep"], **parts["c"])

    patched.set_model_unet_function_wrapper(size_of)
    together = tiny.sample(patched, steps=STEPS)
    assert set(batches) == {2}
    batches.clear()
    # ComfyUI asks whether both fit into one call.
    monkeypatch.setattr(comfy.model_management, "get_free_memory", lambda *args, **kw: 0)
    apart = tiny.sample(patched, steps=STEPS)
    assert set(batches) == {1}
    # Matrix products round differently for another batch size; L2P's weights make it larger.
    torch.testing.assert_close(apart, together, rtol=1e-3, atol=1e-3)
    assert not torch.allclose(together, tiny.sample(model, steps=STEPS), rtol=1e-3, atol=1e-3)


def test_dpcache_plans_few_full_steps_with_longer_jumps_and_says_so(model):
    calibrate(model)
    # Jumps of 3 at most: from 2 to 11 it takes three of them, so two steps between.
    assert "planned with" not in plan("DPCache", full=6)[2]
    with pytest.raises(ValueError, match="5 full ones in jumps of at most 3 steps"):
        plan("DPCache", full=5)
    calibrate(model, max_jump=9, name="long")
    for full in (4, 5):
        schedule, policy, text = plan("DPCache", full=full, calibration="long")
        assert Schedule.parse(schedule).num_full == full
        assert policy == TokenTaylor()
        assert "the published 3 first full steps and jumps of at most 3 steps leave no" in text
    assert plan("DPCache", full=4, calibration="long")[0] == "0-2,11/12"
    assert "planned with" not in plan("DPCache", full=6, calibration="long")[2]


def test_meancache_plans_few_full_steps_with_fewer_first_ones_and_says_so(model):
    calibrate(model)
    schedule, policy, text = plan("MeanCache", full=4)
    assert schedule == "0-2,11/12"
    assert isinstance(policy, MeanVelocity)
    assert dict(policy.spans).keys() == set(range(3, 11))
    assert "planned with 3 first full steps and jumps of at most 15 steps" in text
    assert "planned with" not in plan("MeanCache", full=7)[2]


def test_the_weights_of_l2p_are_refused_by_another_model(model):
    calibrate(model)
    schedule, policy, text = plan("L2P")
    assert isinstance(policy, CausalLinear)
    assert "spaced by the GPH paper's rule for images\n" in text  # the calibration is of FLUX
    walk = torch.randn(STEPS + 1, 40, generator=torch.Generator().manual_seed(1)).cumsum(0)
    torch.testing.assert_close(policy.matrix, fit(gram(walk[:-1])).matrix)
    case = next(case for case in zoo_images.CASES if case.name == "Qwen-Image")
    other = tiny.attach(zoo.build(case), schedule, policy)
    with pytest.raises(ValueError, match=r"were fitted for FLUX, this model is Qwen-Image"):
        zoo.sample(case, other, steps=STEPS)


def test_the_text_says_what_the_plan_holds_for(model):
    calibrate(model)
    text = plan("DPCache", full=6)[2]
    assert text.startswith("DPCache: cheapest path through errors of predicted features (arXiv")
    assert text.splitlines()[-3:] == [
        "calibrated for: family FLUX, precision float32, sampler euler, guider CFGGuider, cfg 3.0, "
        "latent 16×8×8",
        "calibration: 3 examples",
        "not checked here: noise levels (connect sigmas), model (connect it), sampler, CFG and "
        "size",
    ]


def test_what_was_checked_is_not_among_what_was_not(model):
    levels = calibrate(model)
    text = plan("DPCache", full=6, sigmas=levels)[2]
    assert text.endswith("not checked here: model (connect it), sampler, CFG and size")
    text = plan("DPCache", full=6, model=model)[2]
    assert text.endswith("not checked here: noise levels (connect sigmas), sampler, CFG and size")
    text = plan("DPCache", full=6, sigmas=levels, model=model)[2]
    assert text.endswith("not checked here: sampler, CFG and size")
    assert "not checked" not in plan("TaylorSeer", calibration=NONE)[2]


def test_how_a_calibration_fits_is_said_in_words(model):
    calibrate(model)
    for method, words in {"L2P": "error 8.79e-03", "BudCache": "best of 16 schedules"}.items():
        text = plan(method)[2]
        assert words in text
        assert not set("{}[]_") & set(text)
