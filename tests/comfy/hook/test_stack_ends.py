"""model/ends: families whose stack ends in a way of its own, each by its own computation.

By hand: every block hands on what it gets, and the last one adds what the whole stack added when
it ran. Nothing of the pack's surgery is used for it.
"""

import contextlib

import comfy.controlnet
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.model import families
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

# How a block of each list hands on its arguments: these places, the image's tokens first.
LISTS = {
    "AuraFlow": {"double_layers": (1, 0), "single_layers": (0,)},
    "Chroma Radiance": {"double_blocks": ("img", "txt"), "single_blocks": (0,)},
    "Z-Image, pixel space": {"layers": (0,)},
    "PixelDiT": {"patch_blocks": (0, 1)},
    "PiD": {"patch_blocks": (0, 1)},
    "TripoSplat": {"blocks": (0,)},
}
ENDS = [case for case in CASES.values() if case.family in LISTS]


def test_every_family_without_a_final_layer_of_its_own_is_computed_here():
    found = {f.name for f in families.FAMILIES if f.end or f.calls_what_it_finds}
    assert found == {*LISTS}


class Stack:
    """The blocks of a model, with what went into the first and came out of the last."""

    def __init__(self, case, model):
        self.family = case.family
        transformer = model.model.diffusion_model
        self.places = [
            (block, places)
            for name, places in LISTS[case.family].items()
            for block in getattr(transformer, name)
        ]
        # PiD's gates stand in front of blocks; by hand the first of them is all that is left.
        self.gates = [*transformer.lq_proj.gate_modules[1:]] if case.family == "PiD" else []
        self.residual = None

    @contextlib.contextmanager
    def watched(self):
        """Keep what the stack adds to the image's tokens in a call."""
        first, last = self.places[0], self.places[-1]
        seen = {}

        def note(_block, args, kwargs):
            place = first[1][0]
            seen["before"] = (kwargs[place] if isinstance(place, str) else args[place]).clone()

        def keep(_block, _args, result):
            seen["after"] = result[0] if isinstance(result, tuple) else result

        handles = [
            first[0].register_forward_pre_hook(note, with_kwargs=True),
            last[0].register_forward_hook(keep),
        ]
        yield
        for handle in handles:
            handle.remove()
        count = seen["before"].shape[1]
        self.residual = seen["after"][:, -count:] - seen["before"]

    @contextlib.contextmanager
    def passed(self):
        """Let every block hand on what it gets, and the last one add the residual."""
        for number, (block, places) in enumerate(self.places):
            is_last = number == len(self.places) - 1

            def forward(*args, _places=places, _is_last=is_last, **kwargs):
                given = [kwargs[p] if isinstance(p, str) else args[p] for p in _places]
                if _is_last:
                    image, count = given[0], self.residual.shape[1]
                    changed = image[:, -count:] + self.residual
                    given[0] = torch.cat((image[:, :-count], changed), dim=1)
                if len(given) == 1:
                    return given[0]
                # AuraFlow's blocks return the text first.
                return tuple(reversed(given)) if self.family == "AuraFlow" else tuple(given)

            block.forward = forward
        for gate in self.gates:
            gate.forward = lambda tokens, *_: tokens
        yield
        for module in (*self.gates, *(block for block, _ in self.places)):
            del module.forward


def by_hand(case, model):
    """Latents of two steps, the second of which reuses what the stack added in the first."""
    stack, steps = Stack(case, model), []

    def apply(executor, *args, **kwargs):
        steps.append(1)
        with stack.passed() if len(steps) == 2 else stack.watched():
            return executor(*args, **kwargs)

    patched = model.clone()
    patched.add_wrapper_with_key(WrappersMP.APPLY_MODEL, "by hand", apply)
    return zoo.sample(case, patched, steps=2, cfg=1.0)


@pytest.mark.parametrize("case", ENDS, ids=lambda case: case.name)
def test_a_cached_step_adds_what_the_stack_added(case):
    model = zoo.build(case)
    expected = by_hand(case, model)
    assert zoo.same(zoo.sample(case, tiny.attach(model, "0/2"), steps=2, cfg=1.0), expected)
    assert not zoo.same(zoo.sample(case, model, steps=2, cfg=1.0), expected)


# What other extensions do to the last list


@pytest.mark.parametrize("policy", [Reuse(), TwoAnchor()], ids=str)
@pytest.mark.parametrize("name", ["AuraFlow", "Chroma Radiance"])
def test_a_replaced_block_is_part_of_the_residual_and_replaces_nothing_else(name, policy):
    case = CASES[name]
    model, plain, calls = zoo.build(case), [], []

    def skip(args, extra):
        calls.append(1)
        return {"img": args["img"] * 1.1}

    patched = model.clone()
    patched.set_model_patch_replace(skip, "dit", "single_block", 0)

    def denoised(model, levels=(1.0, 1 - 1e-6, 1 - 2e-6, 1 - 3e-6)):
        found = []
        top = float(zoo.sigmas(model, 4)[1])
        zoo.sample(
            case, model, steps=len(levels) - 1, cfg=1.0,
            sigmas=torch.tensor([top * level for level in levels]),
            callback=lambda step, x0, x, total: found.append(x0.clone()),
        )  # fmt: skip
        return found

    plain = denoised(patched)
    calls.clear()
    cached = denoised(tiny.attach(patched, "0,1/3", policy))
    assert len(calls) == 2  # of the full steps
    # The noise levels are nearly the same; the block itself would be of the order 0.1.
    torch.testing.assert_close(cached[2], plain[2], rtol=1e-2, atol=1e-2)
    assert float((plain[2] - denoised(model)[2]).std()) > 0.03


def test_what_others_add_behind_a_block_counts_once():
    case = CASES["Z-Image, pixel space"]
    model, calls = zoo.build(case), []

    def add(args):
        calls.append(args["block_index"])
        return {"img": args["img"] + 1}

    patched = model.clone()
    patched.set_model_double_block_patch(add)
    top = float(zoo.sigmas(model, 4)[1])
    levels = torch.tensor([top * (1 - n * 1e-6) for n in range(4)])
    found = {}
    for name, sampled in (("full", patched), ("cached", tiny.attach(patched, "0,1/3"))):
        calls.clear()
        zoo.sample(
            case, sampled, steps=3, cfg=1.0, sigmas=levels,
            callback=lambda step, x0, x, total: found.setdefault(name, []).append(x0.clone()),  # noqa: B023
        )  # fmt: skip
    assert calls == [0, 1, 2, 0, 1, 2]  # of the two full steps
    torch.testing.assert_close(found["cached"][2], found["full"][2], rtol=1e-3, atol=1e-3)


class Control(comfy.controlnet.ControlBase):
    """Adds ones behind the last block."""

    def pre_run(self, model, percent_to_timestep_function):
        self.timestep_range = (1e9, 0.0)

    def get_control(self, x, t, cond, batched_number, options):
        return {"input": [], "output": [None, None, torch.ones(x.shape[0], 16, 64)]}


def test_what_a_control_adds_behind_the_last_block_counts_once():
    case = CASES["Chroma Radiance"]
    model = zoo.build(case)

    def controlled(seed, tokens):
        ((text, keys),) = case.conditioning(seed, tokens)
        return [[text, keys | {"control": Control(), "control_apply_to_uncond": False}]]

    steered = zoo.Case(**{**vars(case), "conditioning": controlled})
    top = float(zoo.sigmas(model, 4)[1])
    levels = torch.tensor([top * (1 - n * 1e-6) for n in range(4)])
    full, cached, plain = [], [], []
    for sampled, of, states in (
        (model, steered, full), (tiny.attach(model, "0,1/3"), steered, cached), (model, case, plain)
    ):  # fmt: skip
        zoo.sample(
            of, sampled, steps=3, cfg=1.0, sigmas=levels,
            callback=lambda step, x0, x, total: states.append(x0.clone()),  # noqa: B023
        )  # fmt: skip
    torch.testing.assert_close(cached[2], full[2], rtol=1e-2, atol=1e-2)
    assert float((full[2] - plain[2]).std()) > 0.1


# A batch of both prompts that is not computed as it comes


@pytest.mark.parametrize("name", ["Hunyuan3D 2.1", "ACE-Step 1.5", "TripoSplat"])
def test_a_step_whose_prompts_come_apart_is_full_where_a_batch_mixes_them(name, monkeypatch):
    case = CASES[name]
    model, steps, listener = zoo.build(case), [], tiny.Listener()
    required = [0]
    monkeypatch.setattr(model.model, "memory_required", lambda *args, **kwargs: required[0])

    def limit_memory(executor, *args, **kwargs):
        steps.append(1)
        required[0] = 2**60 if len(steps) == 3 else 0  # then each prompt comes alone
        return executor(*args, **kwargs)

    patched = tiny.attach(model, "0,1/5", listener=listener)
    patched.add_wrapper(WrappersMP.PREDICT_NOISE, limit_memory)
    zoo.sample(case, patched, steps=5)
    (record,) = listener.records
    mixes = name != "TripoSplat"
    assert record.full_steps == ((0, 1, 2) if mixes else (0, 1))


# Keys of prompts that HiDream-O1 remembers


def three_prompts(case, short):
    """Their mixture, more than the model remembers; one of them ends behind the second step."""

    def conditioning(seed, tokens):
        prompts = [case.conditioning(10 * seed + n, tokens + n)[0] for n in range(3)]
        prompts[short][1].update(start_percent=0.0, end_percent=0.4)
        return prompts

    return conditioning


@pytest.mark.skipif("HiDream-O1" not in CASES, reason="this ComfyUI does not have it")
def test_more_prompts_than_hidream_o1_remembers():
    case = CASES["HiDream-O1"]
    model = zoo.build(case)
    many = zoo.Case(**{**vars(case), "conditioning": three_prompts(case, short=1)})
    states, listener = {"plain": [], "cached": []}, tiny.Listener()
    for name, sampled in (
        ("plain", model),
        ("cached", tiny.attach(model, "0,2/4", listener=listener)),
    ):
        zoo.sample(
            many, sampled, steps=4, cfg=1.0,
            callback=lambda step, x0, x, total: states[name].append(x0.clone()),  # noqa: B023
        )  # fmt: skip
    assert listener.records[0].full_steps == (0, 2)
    assert torch.equal(states["plain"][0], states["cached"][0])
    entries = model.model.diffusion_model._kv_cache_entries
    assert [len(entry["kv"]) for entry in entries] == [3, 3]  # of all blocks
