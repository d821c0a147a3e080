"""What a speed does without a path: damped velocity, or residual reuse and the reason."""

from dataclasses import replace
from types import SimpleNamespace

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.paths.spacings import damped_spacing, noise_spacing
from golden_path_pack.gph_core.paths.without_path import LONG, NOISE, REUSED, TOO_LONG
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.damped_velocity import DampedVelocity
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.run.levels import along
from golden_path_pack.nodes.cache import cache
from golden_path_pack.nodes.compare import compare_session
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.hook.setup import BAKED_IN, SamplingSetup

from ...support.comfy import tiny
from ...support.comfy.compared import compare, empty, report
from ...support.comfy.sampled import advice
from ...support.comfy.unlisted import CASE
from ...support.zoo import zoo


@pytest.fixture
def listener(monkeypatch):
    """Hears of the runs of the node's MODEL."""
    heard = tiny.Listener()
    monkeypatch.setattr(cache, "Reporter", lambda node_id: heard)
    monkeypatch.setattr(cache.GoldenPathCache, "hidden", SimpleNamespace(unique_id="1"))
    return heard


def cached(model, speed="Balanced", policy=None):
    """The MODEL of *Golden Path Cache*; the schedule is for *Custom*."""
    return cache.GoldenPathCache.execute(model, speed, "0,3/8", policy).result[0]


def halfway(model):
    return float(model.get_model_object("model_sampling").percent_to_sigma(0.5))


def test_a_speed_takes_damped_velocity_and_its_own_spacing(model, listener):
    latent = tiny.sample(cached(model), steps=50, cfg=2.0, size=4)
    (record,) = listener.records
    # The guidance that is baked in is stronger than CFG.
    expected = damped_spacing(record.sigmas, 13, halfway(model), BAKED_IN)
    assert (record.policy, record.notes) == ("damped velocity", ())
    assert record.full_steps == expected.full_steps
    assert listener.plans == [
        f"FLUX: 13 of 50 steps full (spacing by noise level: {expected}), policy damped velocity "
        "(the default without a path), at most 3.8x fewer model calls"
    ]
    chosen = tiny.attach(model, str(expected), DampedVelocity())
    assert torch.equal(latent, tiny.sample(chosen, steps=50, cfg=2.0, size=4))


@pytest.mark.parametrize(("cfg", "guidance"), [(1.0, BAKED_IN), (3.0, BAKED_IN), (4.0, 4.0)])
def test_the_stronger_of_cfg_and_baked_in_guidance_counts(model, cfg, guidance):
    assert model.model.model_config.unet_config["guidance_embed"]
    guider = comfy.samplers.CFGGuider(model)
    guider.set_cfg(cfg)
    sampler = comfy.samplers.sampler_object("euler")
    setup = SamplingSetup(guider, sampler, [1.0, 0.5, 0.0], (1, 16, 8, 8))
    assert setup.known(Reuse()).guidance == guidance


@pytest.mark.parametrize("policy", [Reuse(), Reuse(Site.GUIDED)], ids=str)
def test_a_connected_policy_stays(model, listener, policy):
    tiny.sample(cached(model, policy=policy), steps=50, cfg=2.0, size=4)
    (record,) = listener.records
    expected = noise_spacing(record.sigmas, 13, halfway(model), guided=True)
    assert (record.policy, record.full_steps) == (str(policy), expected.full_steps)


def test_a_schedule_of_the_users_keeps_residual_reuse(model, listener):
    tiny.sample(cached(model, "Custom"))
    (record,) = listener.records
    assert (record.policy, record.full_steps) == ("residual reuse", (0, 3))


@pytest.mark.parametrize(
    ("sampler", "cfg", "reason"),
    [
        ("euler", 9.0, TOO_LONG),
        ("euler_cfg_pp", 1.5, "the sampler euler_cfg_pp needs both prompts at every step, which "
         "damped velocity leaves out"),
    ],
)  # fmt: skip
def test_where_residual_reuse_is_better_or_the_only_way_the_report_says_so(
    model, listener, sampler, cfg, reason
):
    tiny.sample(cached(model), steps=10, sampler=sampler, cfg=cfg)
    (record,) = listener.records
    assert record.policy == "residual reuse"
    assert record.notes == (f"{REUSED}: {reason}", *advice(10))


def test_a_sampler_that_adds_noise_gets_residual_reuse_or_nothing(model, listener):
    tiny.sample(cached(model), steps=12, sampler="euler_ancestral", cfg=1.0)
    (record,) = listener.records
    assert record.policy == "residual reuse"
    assert record.notes[0] == f"{REUSED}: {NOISE}"
    unlisted = zoo.build(CASE)
    full = zoo.sample(CASE, unlisted, steps=12, sampler="euler_ancestral")
    found = zoo.sample(CASE, cached(unlisted), steps=12, sampler="euler_ancestral")
    assert torch.equal(found[0], full[0])
    assert "UNetModel is not a supported transformer" in listener.refusals[0]


def test_samplers_that_use_earlier_steps_are_known(model):
    def is_multistep(name):
        guider = comfy.samplers.CFGGuider(model)
        sampler = comfy.samplers.sampler_object(name)
        setup = SamplingSetup(guider, sampler, [1.0, 0.5, 0.0], (1, 16, 8, 8))
        return setup.known(Reuse()).is_multistep

    names = ("euler", "ddim", "dpmpp_2m", "res_multistep", "uni_pc")
    assert [is_multistep(name) for name in names] == [False, False, True, True, True]


def test_a_model_that_is_not_listed_is_cached_too(listener):
    model, calls = zoo.build(CASE), []
    model.model.diffusion_model.register_forward_pre_hook(lambda *args: calls.append(1))
    # With strong guidance, too: nothing else works there.
    for cfg, notes in ((1.0, ()), (9.0, (LONG,))):
        calls.clear()
        case = replace(CASE, cfg=cfg)
        zoo.sample(case, cached(model), steps=12)
        record = listener.records.pop()
        assert (record.policy, record.notes) == ("damped velocity", notes)
        assert len(calls) == len(record.full_steps) == 5


def test_without_the_node_nothing_is_left(model, listener):
    before = tiny.sample(model)
    tiny.sample(cached(model))
    assert torch.equal(tiny.sample(model), before)
    assert patching.plan_of(model) is None


@pytest.mark.parametrize("policy", [None, DampedVelocity()], ids=str)
def test_compare_run_compares_with_uniform_spacing_under_the_same_policy(model, policy):
    sigmas = comfy.samplers.calculate_sigmas(model.get_model_object("model_sampling"), "simple", 12)
    guider = comfy.samplers.CFGGuider(model)
    guider.set_conds(tiny.conditioning(1), tiny.conditioning(2))
    sampler = comfy.samplers.sampler_object("euler")
    sampling = compare_session.sampling_of(guider, empty(), sampler, sigmas, 1)
    plan = cache.plan_of("Quality", "", policy)
    session = compare_session.prepare(sampling, plan, along(sigmas))
    assert isinstance(session.choice.policy, DampedVelocity)
    assert session.policy == session.choice.policy


def test_compare_run_says_why_residuals_are_repeated(model):
    runs = report(compare(model, speed="Quality", steps=12, cfg=9.0))["runs"]
    assert f"{REUSED}: {TOO_LONG}" in runs[1]["notes"]
