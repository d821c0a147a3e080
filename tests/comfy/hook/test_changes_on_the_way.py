"""run/variants: what changes during a run makes the next step full, under every kind of policy."""

import comfy.hooks
import comfy.patcher_extension
import comfy.samplers
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from comfy_extras import nodes_custom_sampler as custom
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse

from ...support.comfy import tiny
from ...support.zoo import zoo, zoo_all

LATE = "steps were computed in full because a branch had no anchor yet"
POLICIES = [Reuse(), Reuse(Site.OUTPUT), Reuse(Site.GUIDED)]
STEPS, SCHEDULE, FULL, CHANGE = 10, "0-2,8/10", (0, 1, 2, 8), 5


def run(model, policy, guider=comfy.samplers.CFGGuider, conditionings=None, schedule=SCHEDULE):
    """Record of ten steps, under inference mode."""
    listener = tiny.Listener()
    made = guider(tiny.attach(model, schedule, policy, listener))
    made.set_conds(*(conditionings or (tiny.conditioning(1), tiny.conditioning(2))))
    made.set_cfg(3.0)
    latent = {"samples": torch.zeros(1, 16, 8, 8)}
    with torch.inference_mode():
        custom.SamplerCustomAdvanced.execute(
            custom.Noise_RandomNoise(1), made, comfy.samplers.sampler_object("euler"),
            zoo.sigmas(model, STEPS), latent,
        )  # fmt: skip
    (record,) = listener.records
    return record


def with_options(model, options):
    """Clone whose every evaluation has options by its step."""
    clone, step = model.clone(), iter(range(STEPS))

    def wrapper(executor, x, timestep, model_options, *args, **kwargs):
        at = options(next(step))
        inside = model_options["transformer_options"] | at
        return executor(x, timestep, model_options | {"transformer_options": inside}, *args)

    clone.add_wrapper(WrappersMP.PREDICT_NOISE, wrapper)
    return clone


def attention(q, k, v, **kwargs):
    return {"q": 2 * q}


CHANGES = {
    "a flag": lambda step: {"skips_streams": step < CHANGE},
    "a number": lambda step: {"scale": 5.0 if step < CHANGE else 1.0},
    "an option that goes": lambda step: {"blocks": [7]} if step < CHANGE else {},
    "a patch that comes": lambda step: (
        {} if step < CHANGE else {"patches": {"attn1_patch": [attention]}}
    ),
}


@pytest.mark.parametrize(
    ("change", "policy"),
    [
        ("a flag", Reuse()), ("a number", Reuse(Site.OUTPUT)),
        ("an option that goes", Reuse(Site.GUIDED)), ("a patch that comes", Reuse()),
        ("a patch that comes", Reuse(Site.GUIDED)),
    ],
    ids=str,
)  # fmt: skip
def test_options_that_change_make_the_step_full(model, policy, change):
    record = run(with_options(model, CHANGES[change]), policy)
    assert record.full_steps == tuple(sorted((*FULL, CHANGE)))
    assert record.notes == (LATE,)


MOVING = {
    "a counter": lambda step: {"step": step},
    "a share of the run": lambda step: {"progress": step / STEPS, "done": [step, STEPS]},
    "a function made anew": lambda step: {"patches": {"post_input": [lambda args: args]}},
    "an object made anew": lambda step: {"state": object(), "latent": torch.zeros(step + 1)},
}


@pytest.mark.parametrize(
    ("change", "policy"),
    [
        ("a counter", Reuse()), ("a share of the run", Reuse(Site.OUTPUT)),
        ("a function made anew", Reuse(Site.GUIDED)), ("an object made anew", Reuse()),
    ],
    ids=str,
)  # fmt: skip
def test_options_that_change_at_every_step_cost_no_step(model, policy, change):
    record = run(with_options(model, MOVING[change]), policy)
    assert (record.full_steps, record.notes) == (FULL, ())


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_weight_hook_that_ends_makes_the_step_full(model, policy):
    group = comfy.hooks.HookGroup()
    group.add(comfy.hooks.WeightHook(1.0, 0.0))
    group.hooks[0].weights, group.hooks[0].need_weight_init = {}, False
    frames = comfy.hooks.HookKeyframeGroup()
    for start, strength in ((0.0, 1.0), (CHANGE / STEPS, 0.0)):
        frames.add(comfy.hooks.HookKeyframe(strength=strength, start_percent=start))
    group.set_keyframes_on_hooks(frames)
    both = [comfy.hooks.set_hooks_for_conditioning(tiny.conditioning(n), group) for n in (1, 2)]
    record = run(model, policy, conditionings=both)
    assert record.full_steps == tuple(sorted((*FULL, CHANGE)))
    assert record.notes == (LATE,)


class OtherScale(comfy.samplers.CFGGuider):
    """Changes its scale on the way, as nodes that override the CFG for a part of the run."""

    def predict_noise(self, x, timestep, *args, **kwargs):
        found = super().predict_noise(x, timestep, *args, **kwargs)
        is_last = float(timestep[0]) <= float(self.levels[CHANGE - 1])
        self.cfg = 1.5 if is_last else 3.0
        return found


def test_a_guided_velocity_is_another_one_under_another_scale(model):
    OtherScale.levels = zoo.sigmas(model, STEPS)
    # On cached steps the guider is not asked, so step 4 has to be full for it to change.
    record = run(model, Reuse(Site.GUIDED), OtherScale, schedule="0-2,4,8/10")
    assert record.full_steps == (0, 1, 2, 4, 5, 8)
    record = run(model, Reuse(), OtherScale, schedule="0-2,4,8/10")
    assert record.full_steps == (0, 1, 2, 4, 8)  # those of each prompt are the same


class Modality(comfy.samplers.CFGGuider):
    """Asks for the prompt again without attention between sound and video, as guiders of LTX-2."""

    def predict_noise(self, x, timestep, model_options=None, seed=None):
        def ask(name, **flags):
            inside = {"transformer_options": model_options["transformer_options"] | flags}
            return comfy.samplers.calc_cond_batch(
                self.inner_model, [self.conds[name]], x, timestep, model_options | inside
            )[0]

        positive, negative = ask("positive"), ask("negative")
        apart = ask("positive", a2v_cross_attn=False, v2a_cross_attn=False)
        return 4 * positive - 2 * negative - apart


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_passes_that_differ_in_flags_alone_are_branches(policy):
    case = zoo_all.CASES["LTX-2"]
    model, listener = zoo.build(case), tiny.Listener()
    guider = Modality(tiny.attach(model, "0,1,4/6", policy, listener))
    guider.set_conds(case.conditioning(1, 5), case.conditioning(2, 5))
    with torch.inference_mode():
        custom.SamplerCustomAdvanced.execute(
            custom.Noise_RandomNoise(1), guider, comfy.samplers.sampler_object("euler"),
            zoo.sigmas(model, 6), {"samples": zoo.empty_latent(case)},
        )  # fmt: skip
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps, record.notes) == ((0, 1, 4), (2, 3, 5), ())
