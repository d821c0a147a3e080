"""run/anchors: prompts of different lengths, apart in one step and together in another."""

import inspect
import itertools

import pytest
import torch
from comfy.patcher_extension import WrappersMP
from comfy_extras import nodes_flux
from golden_path_pack.gph_core.policies.base import Anchor
from golden_path_pack.gph_core.policies.extrapolation import Taylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.run.anchors import concatenated, joined

from ...support.comfy import tiny
from ...support.zoo import zoo, zoo_all

KV_CACHE = "FLUX.2 Klein, edit, references at timestep zero"
# ComfyUI 0.24.1 itself fails where its batch changes, with or without a cache.
IS_MENDED = "repeat_to_batch_size" in inspect.getsource(nodes_flux)
KV_CACHES = [KV_CACHE] if IS_MENDED else []


def run(name, policy, is_memory_short):
    """Latents of 8 steps and their record; steps with little memory have a call for each prompt."""
    case, listener, steps, need = zoo_all.CASES[name], tiny.Listener(), itertools.count(), [0]
    model = zoo.build(case)
    model.model.memory_required = lambda *args, **kwargs: need[0]
    # Its first call keeps the references' keys; later ones go without these tokens.
    patched = nodes_flux.FluxKVCache.execute(model)[0] if name == KV_CACHE else model
    patched = tiny.attach(patched, "0,1,5/8", policy, listener).clone()

    def memory(executor, *args, **kwargs):
        need[0] = 2**60 if is_memory_short(next(steps)) else 0
        return executor(*args, **kwargs)

    patched.add_wrapper(WrappersMP.PREDICT_NOISE, memory)
    found, *_ = zoo.sample(case, patched, steps=8, cfg=3.0)
    (record,) = listener.records
    return found, record


POLICIES = [Taylor(1), TwoAnchor()]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("name", KV_CACHES)
def test_prompts_may_be_apart_at_first_and_together_later(name, policy):
    expected, _ = run(name, policy, lambda step: True)
    found, record = run(name, policy, lambda step: step < 2)
    assert record.full_steps == (0, 1, 5)
    # A batch of two rounds otherwise than two of one.
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("name", [*KV_CACHES, "HiDream-O1"])
def test_prompts_may_be_together_in_full_steps_and_apart_in_cached_ones(name, policy):
    expected, _ = run(name, policy, lambda step: False)
    found, record = run(name, policy, lambda step: step in (2, 3))
    assert record.full_steps == (0, 1, 5)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("tail", "kept"), [(False, [0.0, 1.0]), (True, [2.0, 3.0])])
def test_a_batch_has_the_tokens_that_all_branches_have(tail, kept):
    long, short = torch.arange(4.0).reshape(1, 4, 1), torch.tensor([[[8.0], [9.0]]])
    (batch,) = concatenated([(long,), (short,)], tail)
    assert batch.flatten().tolist() == [*kept, 8.0, 9.0]
    anchors = [Anchor(0, 1.0, (tensor,), probe=(-tensor,)) for tensor in (long, short)]
    assert joined(anchors, tail).probe[0].flatten().tolist() == [-kept[0], -kept[1], -8.0, -9.0]
