"""Beside other extensions: replaced blocks, guidance methods, wrappers, ControlNets."""

import types

import comfy.controlnet
import comfy.sample
import comfy.samplers
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.active_run import ActiveRun
from golden_path_pack.gph_core.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes import calls as node_calls
from golden_path_pack.nodes.branches import Branches

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
        outputs[name] = two_calls(patched, node_calls.StackCalls(run))
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
            calls._branches.begin_evaluation()
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
    tiles = []
    branches = Branches(tiles.append)
    base, x, options = object(), torch.zeros(2, 16, 8, 8), {"cond_or_uncond": [0], "uuids": ["a"]}

    def key(x=x, **changes):
        return branches.keys(base, x, options | changes)

    other = {
        "uuid": {"uuids": ["b"]},
        "index": {"cond_or_uncond": [1]},
        "patch": {"patches": {"post_input": [print]}},
        "replacement": {"patches_replace": {"dit": {("double_block", 1): print}}},
        "window": {"context_window": types.SimpleNamespace(index_list=[0, 1])},
        "shape": {"x": torch.zeros(2, 16, 8, 4)},
    }[change]
    plain = key()
    assert plain != key(**other)
    assert tiles == []
    assert key() == plain
    assert len(tiles) == 1  # the plain key came twice, as tiles of one image do


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
    one_item = torch.zeros(1, 16, 8, 8)
    assert Branches(print).keys(object(), one_item, options) == []


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
