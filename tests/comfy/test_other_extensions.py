"""Beside other extensions: replaced blocks, guidance methods, wrappers, ControlNets."""

import types

import comfy.controlnet
import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.active_run import ActiveRun
from golden_path_pack.gph_core.policies import Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes import patching

from . import tiny


def scales_tokens(args, extra):
    return extra["original_block"](args | {"img": args["img"] * 1.5})


def skips_the_block(args, extra):
    return args


@pytest.mark.parametrize("replacement", [scales_tokens, skips_the_block])
def test_a_first_block_replaced_by_another_extension_is_part_of_the_residual(model, replacement):
    # With nearly one noise level for both steps, cached and full call see nearly the same input.
    patched = model.clone()
    patched.set_model_patch_replace(replacement, "dit", "double_block", 0)
    outputs = {}
    for name, schedule in (("full", "0,1/2"), ("cached", "0/2")):
        run = ActiveRun(Schedule.parse(schedule), Reuse(), (0.7, 0.699999, 0.0))
        outputs[name] = two_calls(patched, patching._ModelCalls(run))
    first, second = outputs["cached"]
    assert torch.equal(first, outputs["full"][0])
    # The noise levels differ by 1e-6; a change lost on the cached call would be of the order 1.
    torch.testing.assert_close(second, outputs["full"][1], rtol=0, atol=2e-3)


def two_calls(model, calls):
    """Two calls of one batch item at nearly one noise level, as a sampler makes them."""
    options = {
        "cond_or_uncond": [0],
        "uuids": ["prompt"],
        "patches_replace": model.model_options["transformer_options"].get("patches_replace", {}),
        "wrappers": {WrappersMP.APPLY_MODEL: {"test": [calls.apply_model]}},
    }
    x = torch.randn(1, 16, 8, 8, generator=torch.Generator().manual_seed(0))
    context, extra = tiny.conditioning(1)[0]
    outputs = []
    with torch.no_grad():
        for sigma in (0.7, 0.699999):
            calls._seen.clear()
            out = model.model.apply_model(
                x, torch.tensor([sigma]), c_crossattn=context, y=extra["pooled_output"],
                guidance=torch.tensor([3.5]), transformer_options=options,
            )  # fmt: skip
            outputs.append(out)
    return outputs


def test_skip_layer_guidance_is_a_branch_of_its_own(model):
    def skip(args, extra):
        return args

    def guidance(args):
        # As ComfyUI's skip-layer guidance: the positive prompt once more, with a block left out.
        options = args["model_options"].copy()
        transformer = options["transformer_options"].copy()
        transformer["patches_replace"] = {"dit": {("double_block", 1): skip}}
        options["transformer_options"] = transformer
        (weak,) = comfy.samplers.calc_cond_batch(
            args["model"], [args["cond"]], args["input"], args["sigma"], options
        )
        return args["denoised"] + args["cond_denoised"] - weak

    guided = model.clone()
    guided.set_model_sampler_post_cfg_function(guidance)
    listener = tiny.Listener()
    tiny.sample(tiny.attach(guided, "0,1,4/8", listener=listener))
    (record,) = listener.records
    assert (record.full_steps, record.notes) == ((0, 1, 4), ())
    assert len(record.full_seconds) == 2 * 3
    # One branch less would halve this: three residuals of 16 tokens of 64 channels.
    assert record.cache_bytes == 3 * 16 * 64 * 4


@pytest.mark.parametrize("change", ["uuid", "index", "patch", "replacement", "window", "shape"])
def test_what_distinguishes_branches(change):
    run = ActiveRun(Schedule.parse("0/4"), Reuse(), (1.0, 0.7, 0.4, 0.2, 0.0))
    calls = patching._ModelCalls(run)
    base, x, options = object(), torch.zeros(2, 16, 8, 8), {"cond_or_uncond": [0], "uuids": ["a"]}

    def key(x=x, control=None, **changes):
        return calls._branches(base, x, control, options | changes)

    other = {
        "uuid": {"uuids": ["b"]},
        "index": {"cond_or_uncond": [1]},
        "patch": {"patches": {"post_input": [print]}},
        "replacement": {"patches_replace": {"dit": {("double_block", 1): print}}},
        "window": {"context_window": types.SimpleNamespace(index_list=[0, 1])},
        "shape": {"x": torch.zeros(2, 16, 8, 4)},
    }[change]
    assert key() != key(**other)
    assert key(control={}) not in (key(), key(**other))
    assert run.notes == [
        "caching stopped because the image is sampled in tiles, which may move between steps"
    ]  # the plain key came twice, as tiles of one image do


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"uuids": ["a", "b"]},
        {"uuids": ["a", "b"], "cond_or_uncond": [0]},
        {"uuids": ["a", "b"], "cond_or_uncond": [1, 0]},
    ],
)
def test_calls_that_do_not_say_what_they_hold_have_no_branches(options):
    run = ActiveRun(Schedule.parse("0/1"), Reuse(), (1.0, 0.0))
    one_item = torch.zeros(1, 16, 8, 8)
    assert patching._ModelCalls(run)._branches(object(), one_item, None, options) == []


def test_a_wrapper_that_hides_the_branches_means_full_steps(model, reference):
    def wrapper(apply_model, args):
        options = args["c"]["transformer_options"].copy()
        del options["uuids"]
        return apply_model(
            args["input"], args["timestep"], **(args["c"] | {"transformer_options": options})
        )

    wrapped = model.clone()
    wrapped.set_model_unet_function_wrapper(wrapper)
    listener = tiny.Listener()
    assert torch.equal(tiny.sample(tiny.attach(wrapped, "0,1,4/8", listener=listener)), reference)
    assert listener.records[0].cached_steps == ()


def test_a_control_that_ends_forces_a_full_step(model):
    class Control(comfy.controlnet.ControlBase):
        """Adds to the image tokens until a noise level, as a ControlNet with an end does."""

        def get_control(self, x, t, cond, batched_number, options):
            if float(t[0]) < 0.6:
                return None
            add = torch.ones(x.shape[0], 16, 64)
            return {"input": [add, add], "output": []}

    def controlled(schedule):
        control, listener = Control(), tiny.Listener()
        latent = torch.zeros(1, 16, 8, 8)
        prompts = [
            [[c[0][0], c[0][1] | {"control": control, "control_apply_to_uncond": False}]]
            for c in (tiny.conditioning(1), tiny.conditioning(2))
        ]
        with torch.inference_mode():
            comfy.sample.sample(
                tiny.attach(model, schedule, listener=listener),
                comfy.sample.prepare_noise(latent, seed=1), 8, 3.0, "euler", "simple", *prompts,
                latent, disable_pbar=True, seed=1,
            )  # fmt: skip
        return listener.records[0]

    record = controlled("0/8")
    ended = next(n for n, sigma in enumerate(record.sigmas) if sigma < 0.6)
    assert record.full_steps == (0, ended)
