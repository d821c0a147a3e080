"""Prompts and guidance: each conditioning of a step is cached apart, as a cache by hand does it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import comfy.samplers
import pytest
import torch
from comfy.patcher_extension import WrappersMP
from comfy_extras import nodes_custom_sampler as custom
from comfy_extras import nodes_nag, nodes_pag, nodes_perpneg, nodes_slg
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

import nodes

from ...support.comfy import by_hand, tiny
from ...support.zoo import zoo

FULL = (0, 1, 4)
POSITIVE, NEGATIVE, THIRD, FOURTH = (tiny.conditioning(seed) for seed in (1, 2, 3, 4))
LATE = "steps were computed in full because a branch had no anchor yet"


@functools.cache
def second_model():
    model = tiny.flux()
    zoo.randomize(model.model.diffusion_model, seed=1)
    return model


def core(node, *args):
    """The first output of a node of ComfyUI."""
    return node.execute(*args)[0]


def both(*conditionings):
    return [item for conditioning in conditionings for item in conditioning]


def area(conditioning, x):
    """A prompt for one half of the image, which is 64 pixels wide."""
    return nodes.ConditioningSetArea().append(conditioning, 32, 64, x, 0, 1.0)[0]


def masked(conditioning, columns, bounds="default", size=8):
    mask = torch.zeros(1, size, size)
    mask[..., columns] = 1
    return nodes.ConditioningSetMask().append(conditioning, mask, bounds, 1.0)[0]


def between(start, end, conditioning):
    return nodes.ConditioningSetTimestepRange().set_range(conditioning, start, end)[0]


def guided_away(model, weaken):
    """Guidance away from what a weaker model, or other options, make of the positive prompt."""

    def guidance(args):
        base, options = weaken(args["model"], args["model_options"])
        (weak,) = comfy.samplers.calc_cond_batch(
            base, [args["cond"]], args["input"], args["sigma"], options
        )
        return args["denoised"] + args["cond_denoised"] - weak

    patched = model.clone()
    patched.set_model_sampler_post_cfg_function(guidance)
    return patched


def attend_alike(q, k, v, **kwargs):
    return {"q": torch.zeros_like(q)}


def perturb_attention(base, options):
    patches = {"patches": {"attn1_patch": [attend_alike]}}
    return base, options | {"transformer_options": options["transformer_options"] | patches}


def take_second_model(base, options):
    second_model().pre_run()
    return second_model().model, options


def cfg(model, positive=POSITIVE, negative=NEGATIVE, scale=3.0):
    return custom.CFGGuider.execute(model, positive, negative, scale)[0]


class Situation(NamedTuple):
    """A guider of a MODEL, and what runs in each of 8 steps without a cache.

    The 5 blocks of the tiny FLUX run in each call; prompts of one size share a call.
    """

    guider: Callable
    blocks: tuple[int, ...]
    first_blocks: tuple[int, ...]  # those of them that are first in their call
    size: int = 8
    is_memory_short: Callable[[int], bool] = lambda step: False  # then prompts do not share calls
    others: Callable = tuple  # further models that run
    changes: tuple[int, ...] = ()  # steps that guidance weighs otherwise than the one before
    probes: bool = True  # cached with the policy that runs the first blocks


ONE_CALL = (5,) * 8, (1,) * 8
TWO_CALLS = (10,) * 8, (2,) * 8
NONE = (0,) * 8

# Policy, the same by hand, first blocks that run in each cached call.
REUSE = pytest.param(Reuse(), by_hand.reuse, 0, id="reuse")
TWO_ANCHORS = pytest.param(TwoAnchor(), by_hand.two_anchor, 1, id="two-anchor")
POLICIES = [REUSE, TWO_ANCHORS]

# The simple scheduler puts step n of 8 at n / 8 of the way: 0.1 to 0.45 are steps 1 to 3.
SITUATIONS = {
    "one prompt": Situation(
        lambda m: custom.BasicGuider.execute(m, POSITIVE)[0], *ONE_CALL, probes=False
    ),
    "both prompts at cfg 1": Situation(lambda m: cfg(m, scale=1.0), *ONE_CALL),
    "both prompts in one call": Situation(cfg, *ONE_CALL, probes=False),
    "prompts of different length": Situation(
        lambda m: cfg(m, negative=tiny.conditioning(2, tokens=7)), *TWO_CALLS
    ),
    "little memory": Situation(cfg, *TWO_CALLS, is_memory_short=lambda step: True),
    "memory that comes and goes": Situation(
        cfg, (5, 10) * 4, (1, 2) * 4, is_memory_short=lambda step: step % 2 == 1
    ),
    # One call for the whole image, one for both halves, each with both prompts.
    "areas": Situation(
        lambda m: cfg(m, both(POSITIVE, area(THIRD, 0), area(FOURTH, 32))), *TWO_CALLS
    ),
    "masks": Situation(
        lambda m: cfg(m, both(masked(POSITIVE, slice(4)), masked(THIRD, slice(2, 8)))), *ONE_CALL
    ),
    # One call for the whole image, one for the 8 of 12 columns of the mask.
    "masks with bounds": Situation(
        lambda m: cfg(m, both(POSITIVE, masked(THIRD, slice(8), "mask bounds", 12))),
        *TWO_CALLS, size=12, probes=False,
    ),
    "prompts that take turns": Situation(
        lambda m: cfg(m, both(between(0, 0.45, POSITIVE), between(0.45, 1, THIRD))), *ONE_CALL
    ),
    "a prompt that ends": Situation(
        lambda m: cfg(m, both(POSITIVE, between(0, 0.45, area(THIRD, 0)))),
        (10,) * 4 + (5,) * 4, (2,) * 4 + (1,) * 4,
    ),
    # Guidance of its own: one call more, without the left-out blocks.
    "SLG": Situation(
        lambda m: cfg(core(nodes_slg.SkipLayerGuidanceDiT, m, 2.0, 0.0, 1.0, "1", "0, 2")),
        (5 + 2,) * 8, (2,) * 8,
    ),
    "SLG in a range": Situation(
        lambda m: cfg(core(nodes_slg.SkipLayerGuidanceDiT, m, 2.0, 0.1, 0.45, "1", "0")),
        (5, 8, 8, 8, 5, 5, 5, 5), (1, 2, 2, 2, 1, 1, 1, 1), probes=False,
    ),
    "SLG without the first block": Situation(
        lambda m: cfg(core(nodes_slg.SkipLayerGuidanceDiT, m, 2.0, 0.0, 1.0, "0", "")),
        (5 + 4,) * 8, (1,) * 8,
    ),
    # Both prompts apart, the negative one without the left-out blocks.
    "simple SLG": Situation(
        lambda m: cfg(core(nodes_slg.SkipLayerGuidanceDiTSimple, m, 0.0, 1.0, "1", "2")),
        (5 + 3,) * 8, (2,) * 8,
    ),
    "simple SLG in a range": Situation(
        lambda m: cfg(core(nodes_slg.SkipLayerGuidanceDiTSimple, m, 0.0, 0.45, "1", "")),
        (9,) * 4 + (5,) * 4, (2,) * 4 + (1,) * 4,
    ),
    "PAG": Situation(
        lambda m: cfg(core(nodes_pag.PerturbedAttentionGuidance, m, 2.0)), *TWO_CALLS
    ),
    "perturbed attention": Situation(lambda m: cfg(guided_away(m, perturb_attention)), *TWO_CALLS),
    "NAG": Situation(lambda m: cfg(core(nodes_nag.NAGuidance, m, 5.0, 0.5, 1.5)), *ONE_CALL),
    "PerpNeg guider": Situation(
        lambda m: core(nodes_perpneg.PerpNegGuider, m, POSITIVE, NEGATIVE, THIRD, 3.0, 0.5),
        *ONE_CALL,
    ),
    "PerpNeg": Situation(
        lambda m: cfg(core(nodes_perpneg.PerpNeg, m, THIRD, 0.5)), *TWO_CALLS
    ),
    "dual CFG": Situation(
        lambda m: core(custom.DualCFGGuider, m, POSITIVE, THIRD, NEGATIVE, 3.0, 2.0, "regular"),
        *ONE_CALL,
    ),
    "nested dual CFG": Situation(
        lambda m: core(custom.DualCFGGuider, m, POSITIVE, THIRD, NEGATIVE, 3.0, 2.0, "nested"),
        *ONE_CALL,
    ),
    "two models": Situation(
        lambda m: core(custom.DualModelGuider, m, POSITIVE, 3.0, second_model(), NEGATIVE),
        *TWO_CALLS, others=lambda: (second_model(),),
    ),
    "one model twice": Situation(
        lambda m: core(custom.DualModelGuider, m, POSITIVE, 3.0, m, NEGATIVE),
        *TWO_CALLS,
    ),
    "autoguidance": Situation(
        lambda m: cfg(guided_away(m, take_second_model)),
        *TWO_CALLS, others=lambda: (second_model(),),
    ),
    "cfg 1 for some steps": Situation(
        lambda m: cfg(core(custom.CFGOverride, m, 1.0, 0.2, 0.45)), *ONE_CALL, changes=(2, 4)
    ),
}  # fmt: skip


# One for each way in which calls differ.
FULL_RUNS = [
    "prompts of different length", "memory that comes and goes", "areas", "SLG in a range",
    "autoguidance",
]  # fmt: skip


@pytest.fixture
def situation(request):
    return SITUATIONS[request.param]


@pytest.fixture
def sample(model, monkeypatch):
    """A function that samples a clone of the MODEL in a situation, as workflows do."""
    required = [0]
    monkeypatch.setattr(model.model, "memory_required", lambda *args, **kwargs: required[0])

    def sample(situation, patched, sigmas=None):
        step = itertools.count()

        def limit_memory(executor, *args, **kwargs):
            required[0] = 2**60 if situation.is_memory_short(next(step)) else 0
            return executor(*args, **kwargs)

        patched = patched.clone()
        patched.add_wrapper(WrappersMP.PREDICT_NOISE, limit_memory)
        sigmas = grid(model) if sigmas is None else sigmas
        return run(situation.guider(patched), sigmas, situation.size)

    return sample


def grid(model):
    return custom.BasicScheduler.execute(model, "simple", 8, 1.0)[0]


def run(guider, sigmas, size=8, noise=None, latent=None):
    """Latents of *SamplerCustomAdvanced* under Euler."""
    noise = custom.RandomNoise.execute(1)[0] if noise is None else noise
    latent = torch.zeros(1, 16, size, size) if latent is None else latent
    sampler = custom.KSamplerSelect.execute("euler")[0]
    with torch.inference_mode():
        output, _ = custom.SamplerCustomAdvanced.execute(
            noise, guider, sampler, sigmas, {"samples": latent}
        ).result
    return output["samples"].clone()


@pytest.mark.parametrize("situation", FULL_RUNS, indirect=True)
def test_without_cached_steps_branches_are_sampled_bit_for_bit(model, situation, sample):
    with by_hand.counted(model, situation.others()) as (counter, blocks):
        plain = sample(situation, counter)
        assert blocks == list(situation.blocks)
        blocks.clear()
        assert torch.equal(sample(situation, tiny.attach(counter, "0-7/8")), plain)
        assert blocks == list(situation.blocks)


@pytest.mark.parametrize("situation", SITUATIONS, indirect=True)
def test_branches_are_cached_as_by_hand(model, situation, sample):
    policy, rule = (
        (TwoAnchor(), by_hand.two_anchor) if situation.probes else (Reuse(), by_hand.reuse)
    )
    listener = tiny.Listener()
    with by_hand.counted(model, situation.others()) as (counter, blocks):
        found = sample(situation, tiny.attach(counter, "0,1,4/8", policy, listener))
    on_cached = situation.first_blocks if situation.probes else NONE
    assert blocks == [(situation.blocks if n in FULL else on_cached)[n] for n in range(8)]
    assert_planned(listener)
    with by_hand.cached(model, range(8), FULL, rule, situation.others()) as patched:
        expected = sample(situation, patched)
    assert torch.equal(found, expected)
    assert not torch.equal(found, sample(situation, model))


@pytest.mark.parametrize(
    "situation", [*FULL_RUNS, "dual CFG", "two models", "cfg 1 for some steps"], indirect=True
)
def test_velocity_reuse_is_a_run_of_the_full_steps_alone(model, situation, sample):
    listener = tiny.Listener()
    with by_hand.counted(model, situation.others()) as (counter, blocks):
        found = sample(situation, tiny.attach(counter, "0,1,4/8", Reuse(Site.GUIDED), listener))
    full = sorted({*FULL, *situation.changes})
    assert blocks == [(situation.blocks if n in full else NONE)[n] for n in range(8)]
    (record,) = listener.records
    assert record.full_steps == tuple(full)
    assert record.notes == ((LATE,) if situation.changes else ())
    coarser = sample(situation, model, grid(model)[[*full, 8]])
    # The same in exact arithmetic: the steps between are added one by one.
    torch.testing.assert_close(found, coarser, rtol=1e-4, atol=1e-4)


def assert_planned(listener):
    (record,) = listener.records
    assert (record.full_steps, record.cached_steps) == (FULL, (2, 3, 5, 6, 7))
    assert record.notes == ()


@pytest.mark.parametrize("name", ["areas", "masks with bounds"])
def test_positive_and_negative_areas_share_uuids(model, sample, name):
    # So a uuid does not name a branch: the tests above would not show it if this changed.
    labels = set()

    def note(module, args, kwargs):
        options = kwargs["transformer_options"]
        labels.update(zip(options["uuids"], options["cond_or_uncond"], strict=True))

    hook = model.model.diffusion_model.register_forward_pre_hook(note, with_kwargs=True)
    sample(SITUATIONS[name], model)
    hook.remove()
    shared = {uuid for uuid, index in labels if {(uuid, 0), (uuid, 1)} <= labels}
    assert len(shared) == {"areas": 2, "masks with bounds": 1}[name]


@pytest.mark.parametrize(("policy", "rule", "probes"), POLICIES)
def test_a_prompt_that_begins_on_a_cached_step_computes_its_call_in_full(
    model, policy, rule, probes
):
    # The first prompt has steps 0 to 2, the second steps 3 to 7.
    positive = both(between(0, 0.3, POSITIVE), between(0.3, 1, THIRD))
    listener = tiny.Listener()
    with by_hand.counted(model) as (counter, blocks):
        found = run(cfg(tiny.attach(counter, "0,1,4/8", policy, listener), positive), grid(model))
    assert blocks == [5, 5, probes, 5, 5, probes, probes, probes]
    (record,) = listener.records
    assert (record.full_steps, record.notes) == ((0, 1, 3, 4), (LATE,))
    with by_hand.cached(model, range(8), FULL, rule) as patched:
        assert torch.equal(found, run(cfg(patched, positive), grid(model)))


@pytest.mark.parametrize(("policy", "rule", "probes"), [TWO_ANCHORS])
def test_only_the_call_with_the_new_prompt_is_full(model, policy, rule, probes):
    # Another length lets the negative prompt have its own call, which stays cached on step 3.
    positive = both(between(0, 0.3, POSITIVE), between(0.3, 1, THIRD))
    negative = tiny.conditioning(2, tokens=7)
    listener = tiny.Listener()
    with by_hand.counted(model) as (counter, blocks):
        patched = tiny.attach(counter, "0,1,4/8", policy, listener)
        found = run(cfg(patched, positive, negative), grid(model))
    assert blocks == [10, 10, 2 * probes, 5 + probes, 10, *[2 * probes] * 3]
    (record,) = listener.records
    assert (record.full_steps, record.notes) == ((0, 1, 3, 4), (LATE,))
    with by_hand.cached(model, range(8), FULL, rule) as patched:
        assert torch.equal(found, run(cfg(patched, positive, negative), grid(model)))


@pytest.mark.parametrize(("policy", "rule", "probes"), [TWO_ANCHORS])
def test_a_prompt_that_missed_the_newest_full_step_is_computed_anew(model, policy, rule, probes):
    # CFG 1 on steps 3 and 4 leaves the negative prompt out; on step 5 it comes back.
    listener = tiny.Listener()
    with by_hand.counted(model) as (counter, blocks):
        patched = tiny.attach(counter, "0,1,4/8", policy, listener)
        patched = core(custom.CFGOverride, patched, 1.0, 0.3, 0.55)
        found = run(cfg(patched), grid(model))
    assert blocks == [5, 5, probes, probes, 5, 5, probes, probes]
    assert listener.records[0].notes == (LATE,)
    with by_hand.cached(model, range(8), (0, 1, 4, 5), rule) as patched:
        patched = core(custom.CFGOverride, patched, 1.0, 0.3, 0.55)
        assert torch.equal(found, run(cfg(patched), grid(model)))


def test_the_negative_model_of_a_guider_needs_no_cache_node(model):
    # The guider's run is that of its first model, and so is the plan.
    with_one, listeners = tiny.attach(model, "0,1,4/8"), (tiny.Listener(), tiny.Listener())
    with_two = [
        tiny.attach(patcher, schedule, listener=listener)
        for patcher, schedule, listener in zip(
            (model, second_model()), ("0,1,4/8", "0/8"), listeners, strict=True
        )
    ]

    def dual(first, second):
        return run(
            core(custom.DualModelGuider, first, POSITIVE, 3.0, second, NEGATIVE),
            grid(model),
        )

    assert torch.equal(dual(*with_two), dual(with_one, second_model()))
    assert [len(listener.records) for listener in listeners] == [1, 0]


def test_a_guider_used_twice_begins_each_run_anew(model):
    # As workflows do that stop at a noise level and go on: noise for the first part only.
    high, low = custom.SplitSigmas.execute(grid(model), 4).result
    silence = custom.DisableNoise.execute()[0]
    uuids = []

    def note(module, args, kwargs):
        uuids.append(set(kwargs["transformer_options"]["uuids"]))

    def parts(first, second):
        return run(second, low, noise=silence, latent=run(first, high))

    listener = tiny.Listener()
    with by_hand.counted(model) as (counter, blocks):
        guider = cfg(tiny.attach(counter, "0,1,4/8", listener=listener))
        hook = model.model.diffusion_model.register_forward_pre_hook(note, with_kwargs=True)
        found = parts(guider, guider)
        hook.remove()
    assert len(uuids) == 8
    assert all(seen == uuids[0] for seen in uuids)  # so uuids do not tell the runs apart
    assert blocks == [5, 5, 0, 0, 5, 0, 0, 0]
    assert [record.full_steps for record in listener.records] == [(0, 1), (0,)]
    assert [record.notes for record in listener.records] == [(), ()]
    assert torch.equal(parts(guider, guider), found)
    fresh = tiny.attach(model, "0,1,4/8")
    assert torch.equal(parts(cfg(fresh), cfg(fresh)), found)
    # The latent between the parts is divided by its noise level and multiplied again.
    torch.testing.assert_close(run(cfg(fresh), grid(model)), found, rtol=1e-4, atol=1e-4)
