"""hook/starting: two experts or split SIGMAS are several runs with one schedule."""

import comfy.samplers
import pytest
import torch
from comfy_extras import nodes_custom_sampler, nodes_model_advanced, nodes_optimalsteps
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

import nodes

from ...support.comfy import by_hand, tiny
from ...support.comfy.sampled import (
    BLOCKS,
    PROMPTS,
    advice,
    balanced,
    grid,
    guided,
    in_parts,
    latent,
    on_sigmas,
    spaced,
    two_experts,
)
from ...support.zoo import zoo, zoo_videos


@pytest.fixture(scope="module")
def low():
    """The expert for low noise: a FLUX like ``model`` with other weights."""
    expert = tiny.flux()
    zoo.randomize(expert.model.diffusion_model, seed=1)
    return expert


# --- a custom schedule for both -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "split", "policy", "high_full", "low_full"),
    [
        ("0,2,5,7/10", 5, Reuse(), (0, 2), (0, 2)),
        ("0,2,7/10", 5, Reuse(), (0, 2), (0, 2)),  # step 5 is cached in the schedule
        ("0/10", 2, Reuse(), (0,), (0,)),
        ("0,4,9/10", 9, Reuse(), (0, 4), (0,)),
        ("0-9/10", 5, Reuse(), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4)),
        ("0,1,7/10", 5, TwoAnchor(), (0, 1), (0, 1, 2)),  # needs two full steps, or three:
        ("0-2,9/10", 4, TokenTaylor(), (0, 1, 2), (0, 1, 2, 5)),
        ("0-2,9/10", 8, TokenTaylor(), (0, 1, 2), (0, 1)),
    ],
    ids=str,
)
def test_each_expert_takes_its_part_and_begins_with_full_steps(
    model, low, monkeypatch, schedule, split, policy, high_full, low_full
):
    listener = tiny.Listener()
    experts = [tiny.attach(m, schedule, policy, listener) for m in (model, low)]
    with tiny.counted_blocks(monkeypatch) as count:
        two_experts(*experts, 10, split)
    assert [r.full_steps for r in listener.records] == [high_full, low_full]
    notes = [note for record in listener.records for note in record.notes]
    assert all("extrapolates over" in note for note in notes)
    assert bool(notes) == isinstance(policy, TokenTaylor)
    num_full = len(high_full) + len(low_full)
    probes = 10 - num_full if isinstance(policy, TwoAnchor) else 0
    assert count[0] == num_full * BLOCKS + probes
    # The log names the steps and the schedule that both share.
    first, second = listener.plans
    assert f"{len(high_full)} of {split} steps full (steps 0 to {split - 1} of your " in first
    assert f"{len(low_full)} of {10 - split} steps full (steps {split} to 9 of your " in second


@pytest.mark.parametrize(
    "policy",
    [Taylor(2), TwoAnchor(), Reuse(Site.OUTPUT), MeanVelocity()],
    ids=str,
)
def test_experts_compute_what_runs_with_schedules_of_their_own_do(model, low, policy):
    whole = two_experts(*(tiny.attach(m, "0-2,7/10", policy) for m in (model, low)), 10, 5)
    # Two full steps to begin with where the policy needs them.
    tail = "0-2/5" if policy.min_anchors == 2 else "0,2/5"
    apart = tiny.attach(model, "0-2/5", policy), tiny.attach(low, tail, policy)
    assert torch.equal(whole, in_parts(apart, grid(model, 10), 5))


@pytest.mark.parametrize(
    ("policy", "rule", "high_full", "low_full"),
    [
        (Reuse(), by_hand.reuse, (0, 2), (0, 2)),
        (TwoAnchor(), by_hand.two_anchor, (0, 1, 2), (0, 1, 2)),
    ],
    ids=["residual reuse", "two-anchor"],
)
def test_residuals_of_two_experts_equal_an_independent_computation(
    model, low, policy, rule, high_full, low_full
):
    with (
        by_hand.cached(model, range(5), high_full, rule) as one,
        by_hand.cached(low, range(5), low_full, rule) as two,
    ):
        expected = two_experts(one, two, 10, 5)
    schedule = "0-2,7/10" if isinstance(policy, TwoAnchor) else "0,2,7/10"
    found = two_experts(*(tiny.attach(m, schedule, policy) for m in (model, low)), 10, 5)
    # The independent engine computes the blocks too, in batches of another size.
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def samplers_in_a_row(models, steps, begins, sampler="euler", scheduler="simple"):
    """The tensor that any number of *KSamplerAdvanced* make in a row."""
    current = latent()
    for number, (patched, begin) in enumerate(zip(models, begins, strict=True)):
        is_last = number == len(begins) - 1
        end = 10_000 if is_last else begins[number + 1]
        current = nodes.KSamplerAdvanced().sample(
            patched, "disable" if number else "enable", 1, steps, 3.0, sampler, scheduler,
            *PROMPTS, current, begin, end, "disable" if is_last else "enable",
        )[0]  # fmt: skip
    return current["samples"]


@pytest.mark.parametrize(
    ("sampler", "scheduler"),
    [("euler", "kl_optimal"), ("dpm_2", "beta")],
)
def test_three_samplers_in_a_row_share_one_schedule(model, sampler, scheduler):
    listener = tiny.Listener()
    patched = tiny.attach(model, "0-2,5,9,12,16,19/20", listener=listener)
    found = samplers_in_a_row([patched] * 3, 20, (0, 7, 14), sampler, scheduler)
    # Steps 0 to 6, 7 to 13 (9 and 12 are its 2 and 5) and 14 to 19 (16 and 19 are its 2 and 5).
    assert [r.full_steps for r in listener.records] == [(0, 1, 2, 5), (0, 2, 5), (0, 2, 5)]
    assert "(steps 7 to 13 of your schedule" in listener.plans[1]
    apart = [tiny.attach(model, part) for part in ("0-2,5/7", "0,2,5/7", "0,2,5/6")]
    assert torch.equal(found, samplers_in_a_row(apart, 20, (0, 7, 14), sampler, scheduler))


def test_one_patched_model_may_take_both_parts(model):
    listener = tiny.Listener()
    patched = tiny.attach(model, "0,2,7/10", listener=listener)
    found = two_experts(patched, patched, 10, 5)
    assert [r.full_steps for r in listener.records] == [(0, 2), (0, 2)]
    assert torch.equal(found, two_experts(*(tiny.attach(model, "0,2,7/10") for _ in "12"), 10, 5))


@pytest.mark.parametrize("policy", [Reuse(), Reuse(Site.OUTPUT), Reuse(Site.GUIDED)], ids=str)
def test_the_two_experts_of_wan_share_a_schedule(policy):
    (case,) = (case for case in zoo_videos.CASES if case.name == "Wan 2.1 14B")
    experts = [zoo.build(case) for _ in range(2)]
    zoo.randomize(experts[1].model.diffusion_model, seed=1)
    shifted = [nodes_model_advanced.ModelSamplingSD3().patch(m, 8.0)[0] for m in experts]
    listener = tiny.Listener()

    def sample(schedule):
        return two_experts(
            *(tiny.attach(m, schedule, policy, listener) for m in shifted), 8, 4,
            prompts=(case.conditioning(1, 5), case.conditioning(2, 5)),
            start={"samples": zoo.empty_latent(case)},
        )  # fmt: skip

    found = sample("0,1,6/8")
    assert [r.full_steps for r in listener.records] == [(0, 1), (0, 2)]
    assert [r.cached_steps for r in listener.records] == [(2, 3), (1, 3)]
    assert [r.notes for r in listener.records] == [(), ()]
    assert torch.equal(found, sample("0,1,4,6/8"))  # step 4 is full anyway
    assert not torch.equal(found, sample("0,1,5,6/8"))


# --- what cannot be a part ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "begin", "reason"),
    [
        # From pure noise to the end in fewer steps.
        (8, 0, "covers 10 steps but the sampler runs 8; set the"),
        # Steps 2 to 4 of 12: a part in the middle, of another number of steps.
        (12, 2, "runs 3 steps from the middle of a schedule of 10, and .* step count of all"),
    ],
)
def test_a_run_that_is_no_part_says_what_is_wrong(model, steps, begin, reason):
    patched = tiny.attach(model, "0,2,7/10")
    with torch.inference_mode(), pytest.raises(ValueError, match=reason):
        nodes.KSamplerAdvanced().sample(
            patched, "enable", 1, steps, 3.0, "euler", "simple", *PROMPTS, latent(), begin,
            begin + 3 if begin else 10_000, "enable",
        )  # fmt: skip


def test_weights_fitted_for_all_steps_are_refused_for_a_part(model, low):
    policy = CausalLinear(torch.diag(torch.ones(9), -1))
    experts = [tiny.attach(m, "0,2,7/10", policy) for m in (model, low)]
    with pytest.raises(ValueError, match="fitted for 10 steps but the sampler runs 5"):
        two_experts(*experts, 10, 5)


@pytest.mark.parametrize("scheduler", ["ddim_uniform", "optimal steps"])
def test_the_first_part_is_known_though_it_begins_below_the_highest_noise(model, low, scheduler):
    if scheduler == "ddim_uniform":
        sampling = model.get_model_object("model_sampling")
        sigmas = comfy.samplers.calculate_sigmas(sampling, scheduler, 20)
    else:
        sigmas = nodes_optimalsteps.OptimalStepsScheduler.execute("FLUX", 20, 1.0)[0]
    listener = tiny.Listener()
    in_parts([tiny.attach(m, "0,2,11/20", Reuse(), listener) for m in (model, low)], sigmas, 10)
    assert [r.full_steps for r in listener.records] == [(0, 2), (0, 1)]


def test_the_highest_noise_level_is_that_of_the_patched_sampling():
    experts = [tiny.flux() for _ in range(2)]
    sampling = nodes_model_advanced.ModelSamplingContinuousEDM()
    high, low = (sampling.patch(m, "cosmos_rflow", 80.0, 0.002)[0] for m in experts)
    listener = tiny.Listener()
    sigmas = torch.tensor([80.0, 40.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.0])
    in_parts([tiny.attach(m, "0,1,5/8", Reuse(), listener) for m in (high, low)], sigmas, 4)
    assert [r.full_steps for r in listener.records] == [(0, 1), (0, 1)]


def test_spans_of_a_schedule_follow_its_steps_into_the_second_part(model):
    whole = tiny.attach(model, "0,1,4,5/10", MeanVelocity(4, ((7, 1), (8, 2))))
    shifted = tiny.attach(model, "0,1/6", MeanVelocity(4, ((3, 1), (4, 2))))
    sigmas = grid(model, 10)[4:]
    start = latent(seed=3)
    assert torch.equal(
        on_sigmas(guided(whole), sigmas, start)["samples"],
        on_sigmas(guided(shifted), sigmas, start)["samples"],
    )


# --- speeds ---------------------------------------------------------------------------------------


def test_a_speed_is_kept_by_each_expert(model, low, monkeypatch):
    listener = tiny.Listener()
    with tiny.counted_blocks(monkeypatch) as count:
        two_experts(balanced(model, listener), balanced(low, listener), 20, 8)
    # Of 12 steps 3 would be full, 4 have to be.
    full = [spaced(model, r, 4) for r in listener.records]
    assert [r.full_steps for r in listener.records] == full
    assert count[0] == 8 * BLOCKS


def test_split_sigmas_with_one_guider_are_two_runs(model, monkeypatch):
    # A guider that is used twice gives both runs the same branches.
    listener = tiny.Listener()
    patched = balanced(model, listener)
    guider = guided(patched)
    high, low = nodes_custom_sampler.SplitSigmas.execute(grid(model, 20), 8).result
    with tiny.counted_blocks(monkeypatch) as count:
        half = on_sigmas(guider, high)
        found = on_sigmas(guider, low, half)["samples"]
    full = [spaced(model, r, 4) for r in listener.records]
    assert [r.full_steps for r in listener.records] == full
    assert [r.notes for r in listener.records] == [advice(8), ()]
    assert count[0] == 8 * BLOCKS
    assert torch.equal(found, on_sigmas(guided(balanced(model, listener)), low, half)["samples"])
