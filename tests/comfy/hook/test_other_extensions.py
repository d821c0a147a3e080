"""hook/controlnet: beside other extensions: replaced blocks, wrappers, ControlNets."""

import types

import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.run.active_run import ActiveRun
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook.branch_calls import StackCalls
from golden_path_pack.nodes.hook.branches import TWICE, Branches

from ...support.comfy import tiny
from ...support.comfy.extensions import CountedControl, controlled, scales_tokens, skips_the_block


@pytest.mark.parametrize(
    ("replacement", "block"),
    [
        (scales_tokens, ("double_block", 0)),
        (skips_the_block, ("double_block", 0)),
        (scales_tokens, ("double_block", 1)),
        (scales_tokens, ("single_block", 2)),
    ],
)
@pytest.mark.parametrize("policy", [Reuse(), TwoAnchor()], ids=str)
def test_a_block_replaced_by_another_extension_is_part_of_the_residual(
    model, replacement, block, policy
):
    # With nearly one noise level for both steps, cached and full call see nearly the same input.
    patched = model.clone()
    patched.set_model_patch_replace(replacement, "dit", *block)
    outputs = {}
    for name, schedule in (("full", "0-2/3"), ("cached", "0,1/3")):
        run = ActiveRun(Schedule.parse(schedule), policy, (*LEVELS, 0.0))
        outputs[name] = calls_at(patched, StackCalls(run))
        assert run.finish().cached_steps == ((2,) if name == "cached" else ())
    *full, last = outputs["cached"]
    assert all(torch.equal(a, b) for a, b in zip(full, outputs["full"], strict=False))
    # The noise levels differ by 1e-6; a change lost on the cached call would be of the order 1.
    torch.testing.assert_close(last, outputs["full"][2], rtol=0, atol=2e-3)


LEVELS = (0.7, 0.699999, 0.699998)


def calls_at(model, calls, control=None):
    """Calls of one batch item at nearly one noise level, as a sampler makes them."""
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
        for sigma in LEVELS:
            calls._branches.begin_evaluation()
            out = model.model.apply_model(
                x, torch.tensor([sigma]), c_crossattn=context, control=control,
                y=extra["pooled_output"], guidance=torch.tensor([3.5]), transformer_options=options,
            )  # fmt: skip
            outputs.append(out)
    return outputs


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
    assert tiles == [TWICE]  # the plain key came twice


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


def test_attention_patches_act_through_the_residual(model):
    # As IP-Adapter nodes do: they add to what the attention of each block gives.
    calls = []

    def adds(value, extra_options):
        calls.append(1)
        return value + 0.3

    patched = model.clone()
    patched.set_model_attn1_output_patch(adds)
    plain = tiny.sample(patched)
    assert not torch.equal(plain, tiny.sample(model))
    assert torch.equal(tiny.sample(tiny.attach(patched, "0-7/8")), plain)
    per_step = len(calls) // 16
    calls.clear()
    listener = tiny.Listener()
    found = tiny.sample(tiny.attach(patched, "0,1,4/8", listener=listener))
    assert (len(calls), per_step) == (3 * 5, 5)  # once in each block of a full step
    assert listener.records[0].notes == ()
    assert not torch.equal(found, tiny.sample(tiny.attach(model, "0,1,4/8")))


def test_a_control_is_evaluated_on_full_steps_only(model):
    control, listener = CountedControl(), tiny.Listener()
    controlled(model, control, "0,1,4/8", listener=listener)
    # Positive and negative prompt come in one batch, so once a step.
    assert control.calls == 3
    assert listener.records[0].full_steps == (0, 1, 4)
    plain = CountedControl()
    controlled(model, plain)
    assert plain.calls == 8


def test_a_control_changes_nothing_of_a_full_run(model):
    plain = controlled(model, CountedControl())
    assert torch.equal(controlled(model, CountedControl(), "0-7/8"), plain)
    assert not torch.equal(plain, tiny.sample(model))


def test_the_additions_of_a_control_count_once(model):
    # At one noise level the cached call must give what the full one gave, control included.
    control = {"input": [torch.ones(1, 16, 64)] * 2, "output": [torch.ones(1, 16, 64)] * 3}
    run = ActiveRun(Schedule.parse("0/3"), Reuse(), (*LEVELS, 0.0))
    first, second, _ = calls_at(model, StackCalls(run), control)
    assert run.finish().cached_steps == (1, 2)
    # The noise levels differ by 1e-6; one addition more or less would be of the order 1.
    torch.testing.assert_close(second, first, rtol=0, atol=2e-3)


@pytest.mark.parametrize(("begin", "end"), [(1e9, 0.6), (0.6, 0.0)], ids=["ends", "begins"])
def test_a_control_that_ends_or_begins_forces_a_full_step(model, begin, end):
    listener = tiny.Listener()
    control = CountedControl(begin, end)
    controlled(model, control, "0/8", listener=listener)
    (record,) = listener.records
    changed = next(n for n, sigma in enumerate(record.sigmas) if sigma <= 0.6)
    assert record.full_steps == (0, changed)
    assert control.calls == 1


def test_each_control_of_a_chain_has_its_own_limits(model):
    listener = tiny.Listener()
    late = CountedControl(0.6, 0.0)
    late.previous_controlnet = CountedControl()
    controlled(model, late, "0/8", listener=listener)
    (record,) = listener.records
    changed = next(n for n, sigma in enumerate(record.sigmas) if sigma <= 0.6)
    assert record.full_steps == (0, changed)


def test_a_step_that_must_be_full_after_all_has_its_control(model, monkeypatch):
    # From a noise level on the branches are others, which is known only in the call itself.
    keys = Branches.keys

    def with_a_late_branch(self, base_model, x, options, inputs, sigma):
        return [(*key, sigma < 0.8) for key in keys(self, base_model, x, options, inputs, sigma)]

    monkeypatch.setattr(Branches, "keys", with_a_late_branch)
    control, listener = CountedControl(), tiny.Listener()
    controlled(model, control, "0/8", listener=listener)
    (record,) = listener.records
    late = next(n for n, sigma in enumerate(record.sigmas) if sigma < 0.8)
    assert record.full_steps == (0, late)
    assert control.calls == 2
