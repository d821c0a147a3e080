"""gates/gating: adaptive methods under ``torch.compile`` decide as without."""

import pytest
import torch
from golden_path_pack.nodes.hook import patching

from ...support.comfy import tiny
from ...support.comfy.compiling import EACH_BLOCK, WHOLE, CountingBackend, compiled
from ...support.comfy.gated import FLUX, plan, sampled_both_ways

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", ["SeaCache", "DiCache", "EasyCache"])  # kinds of signal
def test_a_compiled_model_decides_alike_in_a_graph_for_each_kind_of_call(
    model, fresh_compiler, name
):
    threshold, expected, eager = sampled_both_ways(name, model, tiny.sample)
    backend, listener = CountingBackend(), tiny.Listener()
    patched = patching.attach(
        compiled(model, backend, WHOLE), plan(name, FLUX, threshold), listener
    )
    found = [tiny.sample(patched) for _ in range(2)]
    # A full call, and one that looks or is cached; EasyCache's predictions call no model.
    assert backend.graphs == (1 if name == "EasyCache" else 2)
    assert not fresh_compiler["graph_break"]
    assert all(torch.equal(f, expected) for f in found)
    assert [r.gate_values for r in listener.records] == [eager.gate_values] * 2


def test_calls_that_look_and_others_of_the_same_step_go_together(model, fresh_compiler):
    def sample(patched):
        return tiny.sample(patched, negative_tokens=8)  # too long for one call with the positive

    threshold, expected, eager = sampled_both_ways("SeaCache", model, sample)
    whole, listener = compiled(model, CountingBackend(), WHOLE), tiny.Listener()
    found = sample(patching.attach(whole, plan("SeaCache", FLUX, threshold), listener))
    assert not fresh_compiler["graph_break"]
    assert torch.equal(found, expected)
    assert listener.records[0].gate_values == eager.gate_values


pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", ["SeaCache", "DiCache"])
def test_compiled_blocks_decide_alike(model, fresh_compiler, name):
    threshold, expected, eager = sampled_both_ways(name, model, tiny.sample)
    blocks, listener = compiled(model, CountingBackend(), EACH_BLOCK), tiny.Listener()
    found = tiny.sample(patching.attach(blocks, plan(name, FLUX, threshold), listener))
    assert not fresh_compiler["graph_break"]
    assert torch.equal(found, expected)
    assert listener.records[0].gate_values == eager.gate_values
