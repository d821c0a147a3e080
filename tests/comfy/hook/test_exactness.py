"""hook/patching: a cached run is bit for bit the plain model, and what was predicted."""

import contextlib
import itertools
import math

import comfy.model_management
import comfy.sample
import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny
from ...support.selection import later


@pytest.mark.parametrize(
    ("dtype", "error", "policy"),
    [
        (torch.float32, None, Reuse()),
        (torch.float32, RuntimeError, TwoAnchor()),
        (torch.bfloat16, comfy.model_management.InterruptProcessingException, Reuse(Site.GUIDED)),
    ],
    ids=str,
)
def test_bypassed_or_without_cached_steps_the_model_is_bit_identical_whatever_came_before(
    dtype, error, policy
):
    # Bypassed or removed, the node leaves the sampler the model that would have gone into it.
    model = tiny.flux(dtype)
    plain = tiny.sample(model)

    def stop(step, *args):
        if step == 3 and error is not None:  # a cached one
            raise error

    with contextlib.nullcontext() if error is None else pytest.raises(error):
        tiny.sample(tiny.attach(model, "0,1,4/8", policy), callback=stop)
    assert torch.equal(tiny.sample(model), plain)
    assert torch.equal(tiny.sample(tiny.attach(model, "0-7/8", policy)), plain)


POLICIES = [
    Reuse(), Taylor(1), Taylor(2), Hermite(2), TwoAnchor(), Reuse(Site.OUTPUT), Reuse(Site.GUIDED),
]  # fmt: skip


@pytest.mark.parametrize("policy", [*POLICIES, TokenTaylor(), MeanVelocity()], ids=str)
def test_the_same_inputs_give_the_same_bits(policy):
    model = tiny.flux(torch.bfloat16)
    patched = tiny.attach(model, "0-2,4/8", policy)
    first = tiny.sample(patched)
    assert torch.equal(tiny.sample(patched), first)
    assert torch.equal(tiny.sample(tiny.attach(model, "0-2,4/8", policy)), first)


def rounding_gain(model, policy, full):
    """How much more rounding of the model's calls reaches the result than without a cache.

    Calls round independently. Euler adds what a call rounds times the width of its step, and where
    later steps are predicted from it, times theirs and its weights in the predictions.
    """
    sigmas = comfy.samplers.calculate_sigmas(
        model.get_model_object("model_sampling"), "simple", 8
    ).tolist()
    widths = [a - b for a, b in itertools.pairwise(sigmas)]
    share = dict.fromkeys(full, 0.0)
    for n, width in enumerate(widths):
        anchors = [step for step in reversed(full) if step <= n]
        weights = [1.0] if n in full else getattr(policy, "weights", furthest)(anchors, n)
        for anchor, weight in zip(anchors, weights, strict=False):
            share[anchor] += weight * width
    return math.hypot(*share.values()) / math.hypot(*widths)


def furthest(anchors, step):
    """The weights of two anchors where the first block says to go furthest."""
    return 1.5, -0.5


@pytest.mark.parametrize(
    ("policy", "cfg"),
    [
        (Reuse(), 1.0), (Taylor(2), 3.0),
        *later((TwoAnchor(), 3.0), (Reuse(Site.OUTPUT), 1.0), (Reuse(Site.GUIDED), 3.0)),
    ],
    ids=str,
)  # fmt: skip
def test_bf16_and_fp32_differ_by_the_rounding_of_the_full_steps(policy, cfg):
    # Without the guidance embedding, which is another one in bf16 (a relative difference of 0.6).
    single = tiny.flux(torch.float32, guidance_embed=False)
    half = tiny.flux(torch.bfloat16, guidance_embed=False)
    with torch.no_grad():  # the same weights, so that only the computation differs
        for parameter in single.model.diffusion_model.parameters():
            parameter.copy_(parameter.bfloat16())
    full = (0, 1, 2, 4)

    def deviation(one, other):
        return float((tiny.sample(one, cfg=cfg) - tiny.sample(other, cfg=cfg)).norm())

    cached = [tiny.attach(model, "0-2,4/8", policy) for model in (half, single)]
    rounding = deviation(half, single)
    # Half as much again: remembering rounds too, and each deviation is one draw.
    allowed = 1.5 * rounding_gain(single, policy, full) * rounding
    assert deviation(*cached) <= allowed
    # What the cache itself changes is far more, so the bound would show a step treated otherwise.
    assert deviation(cached[1], single) > 5 * allowed
