"""Samplers: steps are counted, however often and in which order a sampler calls the model."""

from __future__ import annotations

import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from comfy_extras import nodes_custom_sampler as custom
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.cache.report import Reporter
from golden_path_pack.nodes.hook import samplers

from ...support.comfy import by_hand, tiny
from ...support.comfy.sampled import BETWEEN_STEPS
from ...support.selection import later

BLOCKS = 5  # of the tiny FLUX; both prompts are in one call
FULL = (0, 1, 3)  # of 6 steps

# The step of each model call, + between two steps.
ONCE = "012345"
# The corrector of a step is at the noise level where the next step begins; the last has none.
TWICE = "01122334455"
BETWEEN = "0+1+2+3+4+5"
CALLS = {
    ONCE: """euler euler_cfg_pp euler_ancestral euler_ancestral_cfg_pp lms dpmpp_2m dpmpp_2m_cfg_pp
        dpmpp_2m_sde dpmpp_2m_sde_heun dpmpp_3m_sde ddpm lcm ipndm ipndm_v deis res_multistep
        res_multistep_cfg_pp res_multistep_ancestral res_multistep_ancestral_cfg_pp
        gradient_estimation gradient_estimation_cfg_pp er_sde sa_solver ddim uni_pc uni_pc_bh2""",
    TWICE: """heun exp_heun_2_x0 exp_heun_2_x0_sde dpm_2_ancestral dpmpp_2s_ancestral_cfg_pp
        sa_solver_pece""",
    BETWEEN: "dpm_2 dpmpp_2s_ancestral dpmpp_sde seeds_2",
    "0++1++2++3++4++5": "seeds_3",
}
SAMPLERS = [(name, calls) for calls, names in CALLS.items() for name in names.split()]

# By default those whose code differs most.
_DEFAULT = """
    euler dpmpp_2m dpmpp_3m_sde ipndm deis res_multistep gradient_estimation er_sde sa_solver uni_pc
    heun exp_heun_2_x0 dpm_2_ancestral sa_solver_pece dpm_2 dpmpp_sde seeds_2 seeds_3
""".split()  # noqa: SIM905
DEFAULT = [row for row in SAMPLERS if row[0] in _DEFAULT]
OTHERS = [row for row in SAMPLERS if row[0] not in _DEFAULT]


def stochastic(name):
    return (
        f"the sampler {name} adds noise at every step, which cached steps cannot foresee; "
        "expect less quality than with a sampler that does not"
    )


def steps_of(calls):
    return [None if call == "+" else int(call) for call in calls]


def expected_blocks(calls, cached=0):
    return [cached if step not in (None, *FULL) else BLOCKS for step in steps_of(calls)]


def assert_met(listener, name, calls):
    """The plan was met in as many calls as the table says, and only what the user can expect."""
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps) == (FULL, (2, 4, 5))
    num_cached = sum(call in "245" for call in calls)
    assert len(record.cached_seconds) == num_cached
    assert len(record.full_seconds) == len(calls) - num_cached
    assert {*record.notes} - {stochastic(name)} == ({BETWEEN_STEPS} if "+" in calls else set())


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context")  # ComfyUI's deis
@pytest.mark.parametrize(("name", "calls"), [*DEFAULT, *later(*OTHERS)])
def test_samplers_meet_the_planned_steps_as_by_hand(model, name, calls):
    listener = tiny.Listener()
    with by_hand.counted(model) as (counter, blocks):
        patched = tiny.attach(counter, "0,1,3/6", listener=listener)
        found = tiny.sample(patched, 6, name)
    assert blocks == expected_blocks(calls)
    assert_met(listener, name, calls)
    with by_hand.cached(model, steps_of(calls), FULL) as patched:
        assert torch.equal(found, tiny.sample(patched, 6, name))


def test_samplers_that_make_several_calls_a_step_are_known():
    several = {name: calls != ONCE for name, calls in [*SAMPLERS, ("heunpp2", "more")]}
    assert several == {
        name: samplers.makes_several_calls(comfy.samplers.sampler_object(name)) for name in several
    }


SELECTION = [
    ("dpmpp_2m", ONCE), ("euler_ancestral", ONCE), ("uni_pc", ONCE), ("heun", TWICE),
    ("dpm_2", BETWEEN), ("dpmpp_2s_ancestral", BETWEEN),
]  # fmt: skip


@pytest.mark.parametrize(("name", "calls"), SELECTION)
def test_two_anchors_meet_the_planned_steps_as_by_hand(model, name, calls):
    listener = tiny.Listener()
    with by_hand.counted(model) as (counter, blocks):
        patched = tiny.attach(counter, "0,1,3/6", TwoAnchor(), listener)
        found = tiny.sample(patched, 6, name)
    assert blocks == expected_blocks(calls, cached=1)
    assert_met(listener, name, calls)
    with by_hand.cached(model, steps_of(calls), FULL, by_hand.two_anchor) as patched:
        assert torch.equal(found, tiny.sample(patched, 6, name))


@pytest.mark.parametrize(("name", "calls"), SELECTION)
def test_velocity_reuse_meets_the_planned_steps_as_by_hand(model, name, calls):
    listener = tiny.Listener()
    with by_hand.counted(model) as (counter, blocks):
        patched = tiny.attach(counter, "0,1,3/6", Reuse(Site.GUIDED), listener)
        found = tiny.sample(patched, 6, name)
    assert blocks == expected_blocks(calls)
    assert_met(listener, name, calls)
    by_hand_ = by_hand.cached_guidance(model, steps_of(calls), FULL)
    assert torch.equal(found, tiny.sample(by_hand_, 6, name))


def heunpp2_calls(num_steps):
    """The steps of heunpp2's evaluations: each step, and up to two ahead of it."""
    return [n for step in range(num_steps) for n in range(step, min(step + 3, num_steps))]


@pytest.mark.parametrize(
    ("policy", "rule", "cached"),
    [(Reuse(), by_hand.reuse, 0), (TwoAnchor(), by_hand.two_anchor, 1)],
    ids=["residual reuse", "two-anchor"],
)
@pytest.mark.parametrize(
    "full",
    [(0, 1, 3), pytest.param((0, 1, 2, 5, 9, 10, 11, 14, 19), marks=pytest.mark.long)],
    ids=str,
)
def test_heunpp2_computes_in_full_no_more_than_its_evaluations_of_full_steps(
    model, policy, rule, cached, full
):
    # It looks two steps ahead and goes back, often across a full step.
    num_steps = 6 if full[-1] < 6 else 20
    calls = heunpp2_calls(num_steps)
    listener = tiny.Listener()
    schedule = f"{','.join(map(str, full))}/{num_steps}"
    with by_hand.counted(model) as (counter, blocks):
        patched = tiny.attach(counter, schedule, policy, listener)
        found = tiny.sample(patched, num_steps, "heunpp2")
    assert blocks == [BLOCKS if step in full else cached for step in calls]
    assert listener.records[0].notes == ()
    with by_hand.cached(model, calls, full, rule) as patched:
        assert torch.equal(found, tiny.sample(patched, num_steps, "heunpp2"))


@pytest.mark.parametrize("policy", [Reuse(Site.GUIDED), Taylor(2), MeanVelocity(3)], ids=str)
def test_heunpp2_meets_the_plan_under_other_policies(model, policy):
    listener, schedule = tiny.Listener(), "0-3,6,9/12"
    tiny.sample(tiny.attach(model, schedule, policy, listener), 12, "heunpp2")
    (record,) = listener.records
    assert record.full_steps == (0, 1, 2, 3, 6, 9)
    risk = policy.risk(Schedule.parse(schedule))  # Taylor extrapolates over a sixth of the run
    assert bool(risk) == (policy == Taylor(2))
    assert record.notes == ((risk,) if risk else ())


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")  # ComfyUI's dpm_*
@pytest.mark.parametrize("policy", [Reuse(), Reuse(Site.GUIDED)], ids=str)
@pytest.mark.parametrize(("name", "steps"), [("dpm_fast", 8), ("dpm_adaptive", 2)])
def test_samplers_that_leave_the_grid_are_not_cached_and_say_so_once(
    model, caplog, name, steps, policy
):
    with by_hand.counted(model) as (counter, blocks):
        patched = tiny.attach(counter, f"0/{steps}", policy, Reporter(None))
        found = tiny.sample(patched, steps, name, cfg=1.0)
    assert torch.equal(found, tiny.sample(model, steps, name, cfg=1.0))
    assert set(blocks) == {BLOCKS}
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert warnings == [
        f"Golden Path Cache: this node caches nothing: the sampler {name} needs all of its "
        "model calls; choose another"
    ]


def test_churn_meets_the_planned_steps_as_by_hand(model):
    # It adds noise before each step, which so begins at 1 + 1/6 of its noise level.
    sampler = comfy.samplers.ksampler("euler", {"s_churn": 1.0})
    sigmas = custom.BasicScheduler.execute(model, "simple", 6, 1.0)[0]

    def sample(patched):
        torch.manual_seed(0)
        with torch.inference_mode():
            output, _ = custom.SamplerCustom.execute(
                patched, True, 1, 3.0, tiny.conditioning(1), tiny.conditioning(2), sampler, sigmas,
                {"samples": torch.zeros(1, 16, 8, 8)},
            ).result  # fmt: skip
        return output["samples"].clone()

    listener = tiny.Listener()
    found = sample(tiny.attach(model, "0,1,3/6", listener=listener))
    assert_met(listener, "euler", ONCE)
    with by_hand.cached(model, range(6), FULL) as patched:
        assert torch.equal(found, sample(patched))


ON_THE_GRID = [n for n in comfy.samplers.SAMPLER_NAMES if n not in ("dpm_fast", "dpm_adaptive")]


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context")  # ComfyUI's deis
@pytest.mark.parametrize("name", ON_THE_GRID)
def test_exactly_the_samplers_that_add_noise_are_noted(model, name):
    # They are known by what the seed of the run changes beyond the initial noise.
    def sample(seed):
        latent = torch.zeros(1, 16, 8, 8)
        with torch.inference_mode():
            return comfy.sample.sample(
                patched, comfy.sample.prepare_noise(latent, 1), 4, 1.0, name, "simple",
                tiny.conditioning(1), tiny.conditioning(2), latent, disable_pbar=True, seed=seed,
            )  # fmt: skip

    listener = tiny.Listener()
    patched = tiny.attach(model, "0,1/4", listener=listener)
    adds_noise = not torch.equal(sample(1), sample(2))
    assert (stochastic(name) in listener.records[0].notes) == adds_noise
    assert listener.refusals == []


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context")  # ComfyUI's deis
@pytest.mark.parametrize("name", ON_THE_GRID)
def test_exactly_the_samplers_that_read_the_branches_are_not_guided_by_the_cache(model, name):
    # They are known by the function with which they look behind the guidance.
    looks = []

    def note(executor, x, timestep, model_options, *args, **kwargs):
        looks.append("sampler_post_cfg_function" in model_options)
        return executor(x, timestep, model_options, *args, **kwargs)

    listener = tiny.Listener()
    patched = tiny.attach(model, "0/4", Reuse(Site.GUIDED), listener)
    patched.add_wrapper(WrappersMP.PREDICT_NOISE, note)
    tiny.sample(patched, 4, name)
    assert len(listener.refusals) == any(looks)
    assert all(f"the sampler {name} needs both prompts" in line for line in listener.refusals)
