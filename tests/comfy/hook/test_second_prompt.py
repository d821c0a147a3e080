"""hook/calls: fitted weights of the second prompt's velocity, beside those after guidance."""

from dataclasses import replace

import comfy.samplers
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from comfy_extras import nodes_apg, nodes_perpneg
from comfy_extras import nodes_custom_sampler as custom
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.policies.weights import GUIDED, SECOND, Term
from golden_path_pack.nodes.hook.calls import NO_SECOND

from ...support.comfy import tiny
from ...support.comfy.sampled import LATENT, windowed
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

SCHEDULE, FULL, CACHED = "0,1,3/6", (0, 1, 3), (2, 4, 5)
BATCH = 2  # images
NEGATIVE = tiny.conditioning(2)


def channels(seed, center=0.0):
    """Numbers without a meaning, one for each channel of the latent."""
    random = torch.Generator().manual_seed(seed)
    return tuple((center + 0.2 * torch.randn(16, generator=random)).tolist())


WEIGHTS = (
    (2, (Term(1, channels(1, 0.9)), Term(0, (-0.2,)), Term(1, channels(2, 0.2), SECOND),
         Term(0, channels(3), SECOND))),
    (4, (Term(3, channels(4, 0.8)), Term(1, channels(5)), Term(3, (0.3,), SECOND))),
    (5, (Term(3, channels(6, 1.1)), Term(3, channels(7), SECOND), Term(1, (-0.1,), SECOND))),
)  # fmt: skip
POLICY = Fitted(SCHEDULE, WEIGHTS)
# The same numbers for all channels, with and without a term of the second prompt, of weight 0.
GUIDED_ONLY = Fitted(
    SCHEDULE, ((2, ((1, 1.2), (0, -0.2))), (4, ((3, 1.1), (1, -0.1))), (5, ((3, 1.0),)))
)
AND_NOTHING = Fitted(
    SCHEDULE, tuple((n, (*terms, (terms[0].step, 0.0, SECOND))) for n, terms in GUIDED_ONLY.weights)
)


def plain(model, cfg=3.0, kind=comfy.samplers.CFGGuider, negative=NEGATIVE):
    guider = kind(model)
    guider.set_conds(tiny.conditioning(1), negative)
    guider.set_cfg(cfg)
    return guider


def dual(style):
    def of(model):
        prompts = map(tiny.conditioning, (1, 3, 2))
        return custom.DualCFGGuider.execute(model, *prompts, 3.0, 1.5, style)[0]

    return of


def perpendicular(model):
    prompts = map(tiny.conditioning, (1, 2, 3))
    return nodes_perpneg.PerpNegGuider.execute(model, *prompts, 3.0, 0.7)[0]


def projected(model):
    return plain(nodes_apg.APG.execute(model, 0.5, 2.0, 0.0)[0])


def projected_by_hand(model):
    """CFG whose result is what a function makes of both prompts."""
    patched = model.clone()
    patched.set_model_sampler_cfg_function(
        lambda args: args["uncond"] + 2.5 * (args["cond"] - args["uncond"]).clamp(-0.5, 0.5)
    )
    return plain(patched)


def run(guider, mask=None):
    """Latents of 6 steps under a guider."""
    latent = torch.zeros(BATCH, 16, 8, 8)
    noise = custom.Noise_RandomNoise(1).generate_noise({"samples": latent})
    sampler, sigmas = comfy.samplers.sampler_object("euler"), zoo.sigmas(guider.model_patcher, 6)
    with torch.inference_mode():
        return guider.sample(
            noise, latent, sampler, sigmas, denoise_mask=mask, disable_pbar=True, seed=1
        ).clone()


def cached(of, model, policy=POLICY, schedule=SCHEDULE):
    """Latents and record of a run that is cached."""
    listener = tiny.Listener()
    found = run(of(tiny.attach(model, schedule, policy, listener)))
    return found, listener.records[0]


def by_hand(of, model, name="negative"):
    """The same, from what each full step denoises, and from what its second prompt does alone."""
    known, steps, weights = {}, [], dict(WEIGHTS)

    def predict(executor, x, timestep, model_options, *args, **kwargs):
        step, sigma = len(steps), float(timestep[0])
        steps.append(step)
        if step in weights:
            velocity = sum(
                torch.tensor(term.weights).view(1, -1, 1, 1) * known[term.step, term.stream]
                for term in weights[step]
            )
            return x - sigma * velocity
        guider = executor.class_obj
        (alone,) = comfy.samplers.calc_cond_batch(
            guider.inner_model, [guider.conds[name]], x, timestep, model_options
        )
        denoised = executor(x, timestep, model_options, *args, **kwargs)
        known[step, GUIDED], known[step, SECOND] = (x - denoised) / sigma, (x - alone) / sigma
        return denoised

    patched = model.clone()
    patched.add_wrapper_with_key(WrappersMP.PREDICT_NOISE, "by hand", predict)
    return run(of(patched))


@pytest.mark.parametrize(
    ("of", "name"),
    [
        (plain, "negative"),
        (dual("regular"), "middle"),
        (dual("nested"), "middle"),
        (perpendicular, "negative"),
        (projected, "negative"),
        (projected_by_hand, "negative"),
    ],
    ids=["CFG", "dual", "nested", "perpendicular", "projected", "function"],
)
def test_the_second_of_the_prompts_that_a_guider_asks_for_has_a_weight(model, of, name):
    found, record = cached(of, model)
    assert (record.full_steps, record.cached_steps) == (FULL, CACHED)
    torch.testing.assert_close(found, by_hand(of, model, name), rtol=1e-3, atol=1e-3)
    full = run(of(model))
    assert (found - full).abs().max() > 0.05  # so that the case can tell


def test_a_cached_step_evaluates_nothing(model):
    calls = []
    handle = model.model.diffusion_model.register_forward_pre_hook(lambda *_: calls.append(1))
    try:
        cached(plain, model)
    finally:
        handle.remove()
    assert len(calls) == len(FULL)


def test_where_a_guider_asks_for_one_prompt_weights_of_two_cache_nothing_and_that_is_noted(model):
    found, record = cached(lambda m: plain(m, cfg=1.0), model)
    assert torch.equal(found, run(plain(model, cfg=1.0)))
    assert record.full_steps == tuple(range(6))
    assert record.caching_stopped == NO_SECOND in record.notes
    assert record.cache_bytes == 0  # nothing is kept
    # Weights of the guided velocity alone are as good as ever.
    assert cached(lambda m: plain(m, cfg=1.0), model, GUIDED_ONLY)[1].cached_steps == CACHED


@pytest.mark.parametrize("end", ["start_percent", "end_percent"])
def test_a_second_prompt_that_begins_or_ends_on_the_way_ends_caching(model, end):
    part = [[cross, extra | {end: 0.25}] for cross, extra in NEGATIVE]

    def of(patched):
        return plain(patched, negative=part)

    found, record = cached(of, model)
    # It acts from step 2 on, or up to step 1.
    sigma = model.get_model_object("model_sampling").percent_to_sigma(0.25)
    assert record.sigmas[1] > sigma > record.sigmas[2]
    assert record.caching_stopped == NO_SECOND
    assert record.cached_steps == ()
    assert torch.equal(found, run(of(model)))


class AskingAgain(comfy.samplers.CFGGuider):
    """Asks for two prompts once more, the second of which is another one."""

    def predict_noise(self, x, timestep, model_options=None, seed=None):
        found = super().predict_noise(x, timestep, model_options, seed)
        again = [self.conds["negative"], self.conds["positive"]]
        comfy.samplers.calc_cond_batch(self.inner_model, again, x + 1, timestep, model_options)
        return found


class AskingBefore(comfy.samplers.CFGGuider):
    """Asks for the positive prompt alone before it asks for both."""

    def predict_noise(self, x, timestep, model_options=None, seed=None):
        alone = [self.conds["positive"]]
        comfy.samplers.calc_cond_batch(self.inner_model, alone, x, timestep, model_options)
        return super().predict_noise(x, timestep, model_options, seed)


@pytest.mark.parametrize("kind", [AskingAgain, AskingBefore])
def test_what_else_is_asked_for_in_an_evaluation_changes_nothing(model, kind):
    found, record = cached(lambda m: plain(m, kind=kind), model)
    assert record.cached_steps == CACHED
    assert torch.equal(found, cached(plain, model)[0])


def test_without_such_weights_nothing_changes_and_no_second_tensor_is_kept(model):
    alone, record = cached(plain, model, GUIDED_ONLY)
    both, with_second = cached(plain, model, AND_NOTHING)
    assert torch.equal(alone, both)
    assert record.cached_steps == with_second.cached_steps == CACHED
    assert record.cache_bytes == 2 * BATCH * LATENT
    assert with_second.cache_bytes == 2 * record.cache_bytes


def test_a_run_without_cached_steps_is_that_without_a_cache(model):
    assert torch.equal(cached(plain, model, schedule="0-5/6")[0], run(plain(model)))


def test_half_precision_is_kept():
    model = tiny.flux(torch.bfloat16)
    found, record = cached(plain, model)
    assert record.cached_steps == CACHED
    torch.testing.assert_close(found, by_hand(plain, model), rtol=0.05, atol=0.1)


def test_a_video_in_windows_is_computed_in_full():
    """The model is asked for both prompts in each window, never for all of the video."""
    case, listener = replace(CASES["Wan 2.1 1.3B"], latent=(16, 11, 4, 4)), tiny.Listener()
    model = windowed(zoo.build(case), "standard_static")
    found = zoo.sample(case, tiny.attach(model, SCHEDULE, AND_NOTHING, listener), steps=6)
    assert zoo.same(found, zoo.sample(case, model, steps=6))
    assert listener.records[0].caching_stopped == NO_SECOND
