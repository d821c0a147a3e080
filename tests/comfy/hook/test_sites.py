"""hook/calls: what is predicted where: branch outputs, guided velocities, probes, tokens."""

import itertools
import math

import comfy.ldm.flux.model
import comfy.model_patcher
import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy_extras.nodes_advanced_samplers import SamplerEulerCFGpp
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.gph_core.policies.damped_velocity import DampedVelocity
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity

from ...support.comfy import tiny

BLOCKS = 5  # of the tiny FLUX
REPEATS = CausalLinear(torch.diag(torch.ones(7), -1))
FREE = [
    Reuse(Site.GUIDED), Taylor(2, site=Site.GUIDED), MeanVelocity(), DampedVelocity(),
    Reuse(Site.OUTPUT), Taylor(1, site=Site.OUTPUT), REPEATS,
]  # fmt: skip


def grid(model, steps):
    sampling = model.get_model_object("model_sampling")
    return comfy.samplers.calculate_sigmas(sampling, "simple", steps)


def guided_velocities(model, sigmas, decide):
    """Euler by hand; ``decide`` maps step, state and history to a velocity or None for a call.

    History holds (state, sigma, velocity) of every step so far.
    """
    positive, negative = tiny.conditioning(1)[0], tiny.conditioning(2)[0]
    base = model.model
    x = comfy.sample.prepare_noise(torch.zeros(1, 16, 8, 8), seed=1)
    history = []
    with torch.no_grad():
        for n, (sigma, following) in enumerate(itertools.pairwise(sigmas.tolist())):
            v = decide(n, x, history)
            if v is None:
                p, u = (
                    base.apply_model(
                        x, torch.tensor([sigma]), c_crossattn=c, y=extra["pooled_output"],
                        guidance=torch.tensor([3.5]), transformer_options={},
                    )
                    for c, extra in (positive, negative)
                )  # fmt: skip
                v = (x - (u + 3.0 * (p - u))) / sigma
            history.append((x, sigma, v))
            x = x + (following - sigma) * v
    return base.process_latent_out(x)


@pytest.mark.parametrize("policy", FREE, ids=str)
def test_nothing_of_the_model_runs_on_such_a_cached_step(model, policy, monkeypatch):
    calls = []
    flux = model.model.diffusion_model
    forward = flux.forward
    with monkeypatch.context() as patch:
        patch.setattr(flux, "forward", lambda *a, **k: calls.append(1) or forward(*a, **k))
        listener = tiny.Listener()
        tiny.sample(tiny.attach(model, "0,1,4/8", policy, listener))
    assert len(calls) == 3
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps) == ((0, 1, 4), (2, 3, 5, 6, 7))
    assert record.site == policy.site.value
    far = isinstance(policy, Taylor)  # over three of eight steps, with CFG 3
    assert len(record.notes) == far
    if far:
        reason = "guidance is too strong" if policy.order == 1 else "38% of the run"
        assert f"{policy} extrapolates over 3 steps up to step 7, " in record.notes[0]
        assert reason in record.notes[0]


@pytest.mark.parametrize("policy", FREE, ids=str)
def test_a_schedule_without_cached_steps_is_bit_identical_at_every_site(policy):
    model = tiny.flux(torch.bfloat16)
    assert torch.equal(tiny.sample(tiny.attach(model, "0-7/8", policy)), tiny.sample(model))


def test_outputs_and_guided_velocities_agree_under_plain_guidance(model):
    # Guidance is linear and both predictions have the same weights.
    for output, guided in (
        (Reuse(Site.OUTPUT), Reuse(Site.GUIDED)),
        (Taylor(2, site=Site.OUTPUT), Taylor(2, site=Site.GUIDED)),
    ):
        one = tiny.sample(tiny.attach(model, "0-2,4/8", output))
        other = tiny.sample(tiny.attach(model, "0-2,4/8", guided))
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_a_repeating_linear_prediction_is_output_reuse(model):
    found = tiny.sample(tiny.attach(model, "0,1,4/8", REPEATS))
    expected = tiny.sample(tiny.attach(model, "0,1,4/8", Reuse(Site.OUTPUT)))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_causal_linear_equals_an_independent_computation(model):
    matrix = torch.rand(8, 8, generator=torch.Generator().manual_seed(4)).tril(-1) / 3

    def decide(n, x, history):
        if n in (0, 1, 4):
            return None
        return sum(matrix[n, j] * history[j][2] for j in range(n))

    # Guidance is linear, so predicting the branches is predicting what guidance makes of them.
    expected = guided_velocities(model, grid(model, 8), decide)
    found = tiny.sample(tiny.attach(model, "0,1,4/8", CausalLinear(matrix)))
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("span", [2, 4])
def test_mean_velocity_equals_an_independent_computation(model, span):
    sigmas = grid(model, 8)
    levels = sigmas.tolist()

    def decide(n, x, history):
        if n in (0, 1, 4):
            return None
        p = min(span, len(history))
        z, sigma, v = history[n - p]
        mean = (x - z) / (levels[n] - sigma)
        slope = (mean - v) / (levels[n] - sigma)
        return history[n - 1][2] + (levels[n + 1] - levels[n]) * slope

    expected = guided_velocities(model, sigmas, decide)
    found = tiny.sample(tiny.attach(model, "0,1,4/8", MeanVelocity(span)))
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_damped_velocity_equals_an_independent_computation(model):
    sigmas, full = grid(model, 8), (0, 1, 4)
    levels = sigmas.tolist()
    shift = math.exp(1.15)  # of the tiny FLUX, as of FLUX.1-dev
    times = [level / (shift - (shift - 1) * level) for level in levels]

    def decide(n, x, history):
        if n in full:
            return None
        b, a = [step for step in full if step < n][-2:]
        strength = max(0, 1 - 2 * (3.0 - 1) * (times[a] - times[n + 1]))  # CFG 3
        reach = (levels[n] - levels[a]) / (levels[a] - levels[b])
        newest, before = history[a][2], history[b][2]
        return newest + strength * reach * (newest - before)

    expected = guided_velocities(model, sigmas, decide)
    found = tiny.sample(tiny.attach(model, "0,1,4/8", DampedVelocity()))
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_token_prediction_hands_the_final_layer_a_taylor_sum_of_tokens(model):
    tokens = []
    hook = model.model.diffusion_model.final_layer.register_forward_pre_hook(
        lambda module, args: tokens.append(args[0].clone())
    )
    tiny.sample(tiny.attach(model, "0-2,4/8", TokenTaylor()), cfg=1.0)
    hook.remove()
    weights = Taylor(2).weights([2, 1, 0], 3)
    expected = sum(w * tokens[n] for w, n in zip(weights, (2, 1, 0), strict=True))
    torch.testing.assert_close(tokens[3], expected, rtol=1e-4, atol=1e-4)
    weights = Taylor(2).weights([4, 2, 1], 7)
    expected = sum(w * tokens[n] for w, n in zip(weights, (4, 2, 1), strict=True))
    torch.testing.assert_close(tokens[7], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("policy", [MeanVelocity(), Taylor(1, site=Site.OUTPUT)], ids=str)
def test_an_unknown_class_can_use_outputs_and_velocities(policy):
    class Foreign(comfy.ldm.flux.model.Flux):
        pass

    model = tiny.flux()
    expected = tiny.sample(tiny.attach(model, "0,1,4/8", policy))
    model.model.diffusion_model.__class__ = Foreign
    listener = tiny.Listener()
    assert torch.equal(tiny.sample(tiny.attach(model, "0,1,4/8", policy, listener)), expected)
    assert listener.records[0].family == "Foreign"
    assert listener.records[0].cached_steps == (2, 3, 5, 6, 7)


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")  # ComfyUI's dpm_fast
@pytest.mark.parametrize(
    ("policy", "sampler", "reason"),
    [
        (Reuse(Site.GUIDED), "euler_cfg_pp", "euler_cfg_pp needs both prompts at every step"),
        (MeanVelocity(), "euler_ancestral", "to which the sampler euler_ancestral adds noise"),
        (MeanVelocity(), "dpmpp_2m_sde", "to which the sampler dpmpp_2m_sde adds noise"),
        (Reuse(), "dpm_fast", "the sampler dpm_fast needs all of its model calls"),
    ],
    ids=str,
)
def test_what_a_sampler_rules_out_is_computed_in_full(model, policy, sampler, reason):
    listener = tiny.Listener()
    found = tiny.sample(tiny.attach(model, "0,1,4/8", policy, listener), sampler=sampler)
    assert torch.equal(found, tiny.sample(model, sampler=sampler))
    (refusal,) = listener.refusals
    assert reason in refusal
    assert listener.records[0].notes == (f"this node caches nothing: {refusal}",)
    assert listener.records[0].cached_steps == ()


def test_a_sampler_of_another_node_that_reads_the_branches_is_computed_in_full(model):
    (sampler,) = SamplerEulerCFGpp.execute("alternative").result

    def sample(patched):
        latent = torch.zeros(1, 16, 8, 8)
        with torch.inference_mode():
            return comfy.sample.sample_custom(
                patched, comfy.sample.prepare_noise(latent, seed=1), 3.0, sampler, grid(model, 8),
                tiny.conditioning(1), tiny.conditioning(2), latent, disable_pbar=True, seed=1,
            ).clone()  # fmt: skip

    expected = sample(model)
    listener = tiny.Listener()
    found = sample(tiny.attach(model, "0,1,4/8", Reuse(Site.GUIDED), listener))
    assert torch.equal(found, expected)
    assert listener.records[0].cached_steps == ()


def test_a_sampler_of_unknown_name_that_reads_the_branches_stops_caching(model):
    def reads_the_unconditional(model_k, x, sigmas, extra_args=None, callback=None, disable=None):
        seen = []
        options = comfy.model_patcher.set_model_options_post_cfg_function(
            extra_args["model_options"].copy(),
            lambda args: seen.append(args["uncond_denoised"]) or args["denoised"],
            disable_cfg1_optimization=True,
        )
        for sigma, following in itertools.pairwise(sigmas):
            levels = sigma * x.new_ones(len(x))
            denoised = model_k(x, levels, denoise_mask=None, model_options=options, seed=1)
            x = denoised + following * (x - seen[-1]) / sigma
        assert len(seen) == len(sigmas) - 1
        return x

    sampler = comfy.samplers.KSAMPLER(reads_the_unconditional)
    latent, listener = torch.zeros(1, 16, 8, 8), tiny.Listener()
    with torch.inference_mode():
        comfy.sample.sample_custom(
            tiny.attach(model, "0,1,4/8", Reuse(Site.GUIDED), listener),
            comfy.sample.prepare_noise(latent, seed=1), 3.0, sampler, grid(model, 8),
            tiny.conditioning(1), tiny.conditioning(2), latent, disable_pbar=True, seed=1,
        )  # fmt: skip
    (record,) = listener.records
    assert record.cached_steps == ()
    assert "reads more than the result of guidance" in record.notes[0]


def test_a_prompt_that_begins_on_the_way_makes_a_guided_step_full(model):
    # From nearly half of the run on there is another positive prompt.
    early, late = tiny.conditioning(1), tiny.conditioning(3)
    prompts = [
        [early[0][0], early[0][1] | {"start_percent": 0.0, "end_percent": 0.45}],
        [late[0][0], late[0][1] | {"start_percent": 0.45, "end_percent": 1.0}],
    ]
    latent, listener = torch.zeros(1, 16, 8, 8), tiny.Listener()
    with torch.inference_mode():
        comfy.sample.sample(
            tiny.attach(model, "0/8", Reuse(Site.GUIDED), listener),
            comfy.sample.prepare_noise(latent, seed=1), 8, 3.0, "euler", "simple", prompts,
            tiny.conditioning(2), latent, disable_pbar=True, seed=1,
        )  # fmt: skip
    (record,) = listener.records
    switch = model.get_model_object("model_sampling").percent_to_sigma(0.45)
    changed = next(n for n, sigma in enumerate(record.sigmas) if sigma < switch)
    assert record.full_steps == (0, changed)


def test_weights_fitted_for_another_model_are_refused(model):
    policy = CausalLinear(REPEATS.matrix, {"family": "Qwen-Image"})
    with pytest.raises(ValueError, match="fitted for Qwen-Image, this model is FLUX"):
        tiny.sample(tiny.attach(model, "0,1,4/8", policy))
