"""hook/calls: guiders and samplers of other packs go past some of ComfyUI's functions."""

import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy.k_diffusion import sampling as k_diffusion
from comfy_extras import nodes_custom_sampler as custom
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.nodes.hook.branches import TWICE

from ...support.comfy import tiny
from ...support.zoo import zoo

SCHEDULE, FULL, CACHED = "0,1,4/8", (0, 1, 4), (2, 3, 5, 6, 7)
POLICIES = [Reuse(), Reuse(Site.OUTPUT), Reuse(Site.GUIDED)]


class Direct(comfy.samplers.CFGGuider):
    """Goes straight to its own ``predict_noise``, as guiders for NAG do."""

    def __call__(self, *args, **kwargs):
        return self.predict_noise(*args, **kwargs)


class ByItself(comfy.samplers.CFGGuider):
    """Asks for the prompts and weighs them itself."""

    def __call__(self, x, timestep, model_options, seed=None):
        conds = [self.conds["positive"], self.conds["negative"]]
        positive, negative = comfy.samplers.calc_cond_batch(
            self.inner_model, conds, x, timestep, model_options
        )
        return negative + self.cfg * (positive - negative)


class Asking(comfy.samplers.CFGGuider):
    """Asks for the positive prompt a second time, with nothing that would tell the calls apart."""

    def predict_noise(self, x, timestep, model_options=None, seed=None):
        found = super().predict_noise(x, timestep, model_options, seed)
        again = [self.conds["positive"]]
        comfy.samplers.calc_cond_batch(self.inner_model, again, x, timestep, model_options)
        return found


def past_the_guider(model, x, sigmas, extra_args=None, callback=None, disable=None):
    """Euler that asks ComfyUI for the guided result itself."""
    guider = model.inner_model

    def call(x, sigma, **kwargs):
        negative, positive = (guider.conds[name] for name in ("negative", "positive"))
        return comfy.samplers.sampling_function(
            guider.inner_model, x, sigma, negative, positive, guider.cfg, kwargs["model_options"]
        )

    return k_diffusion.sample_euler(call, x, sigmas, extra_args, callback, disable)


EULER = comfy.samplers.sampler_object("euler")
PAST = comfy.samplers.KSAMPLER(past_the_guider)


def run(model, kind, policy, schedule=SCHEDULE, sampler=EULER):
    """Latent and record of 8 steps under a guider."""
    listener = tiny.Listener()
    patched = tiny.attach(model, schedule, policy, listener) if schedule else model
    guider = kind(patched)
    guider.set_conds(tiny.conditioning(1), tiny.conditioning(2))
    guider.set_cfg(3.0)
    with torch.inference_mode():
        latent = {"samples": torch.zeros(1, 16, 8, 8)}
        noise, sigmas = custom.Noise_RandomNoise(1), zoo.sigmas(model, 8)
        found = custom.SamplerCustomAdvanced.execute(noise, guider, sampler, sigmas, latent)[0]
    assert type(guider) is kind
    return found["samples"].clone(), listener.records


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("kind", [Direct, ByItself])
def test_a_guider_of_its_own_is_cached_as_that_of_comfyui(model, kind, policy):
    expected, _ = run(model, comfy.samplers.CFGGuider, policy)
    found, (record,) = run(model, kind, policy)
    torch.testing.assert_close(found, expected)
    assert (record.full_steps, record.cached_steps, record.notes) == (FULL, CACHED, ())


@pytest.mark.parametrize(
    ("kind", "policy"),
    [(Direct, Reuse(Site.GUIDED)), (ByItself, Reuse(Site.OUTPUT)), (Asking, Reuse())],
)
def test_a_run_without_cached_steps_is_that_without_a_cache(model, kind, policy):
    expected, _ = run(model, kind, policy, schedule=None)
    assert torch.equal(run(model, kind, policy, "0-7/8")[0], expected)


@pytest.mark.parametrize("policy", POLICIES[:2], ids=str)
def test_a_sampler_that_goes_past_the_guider_is_cached_by_its_noise_levels(model, policy):
    expected, _ = run(model, comfy.samplers.CFGGuider, policy)
    found, (record,) = run(model, comfy.samplers.CFGGuider, policy, sampler=PAST)
    torch.testing.assert_close(found, expected)
    assert (record.full_steps, record.cached_steps, record.notes) == (FULL, CACHED, ())


def test_velocities_of_a_guider_that_is_not_asked_are_computed_in_full_with_the_reason(model):
    expected, _ = run(model, comfy.samplers.CFGGuider, None, None, PAST)
    found, (record,) = run(model, comfy.samplers.CFGGuider, Reuse(Site.GUIDED), sampler=PAST)
    assert torch.equal(found, expected)
    assert (record.full_steps, record.cached_steps) == (tuple(range(8)), ())
    assert "does not ask the guider" in record.caching_stopped


def test_calls_that_nothing_tells_apart_are_in_full_and_not_called_tiles(model):
    expected, _ = run(model, Asking, None, None)
    found, (record,) = run(model, Asking, Reuse())
    assert torch.equal(found, expected)
    assert record.full_steps == tuple(range(8))
    assert record.notes == (TWICE,)


def test_the_guider_is_itself_again_after_an_error(model):
    class Failing(Direct):
        def predict_noise(self, *args, **kwargs):
            raise RuntimeError("on the way")

    made = []

    def kind(patched):
        made.append(Failing(patched))
        return made[0]

    with pytest.raises(RuntimeError, match="on the way"):
        run(model, kind, Reuse())
    assert type(made[0]) is Failing
