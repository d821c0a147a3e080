"""model/surgery: ``torch.compile`` of the model and of its blocks gives the eager result."""

import shutil
import sys

import pytest
import torch
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse, TokenTaylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny
from ...support.comfy.compiling import EACH_BLOCK, WHOLE, CountingBackend, compiled
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

pytestmark = pytest.mark.long  # compiling takes seconds


NEEDS_COMPILER = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("g++"), reason="inductor needs a C++ compiler"
)


@pytest.mark.parametrize(
    ("policy", "schedule", "cache_last"),
    [
        (Reuse(), "0,1,4/8", False), (TokenTaylor(), "0-2,5/8", True),
        (TwoAnchor(), "0,1,4/8", True),
    ],
)  # fmt: skip
def test_a_compiled_model_gives_the_eager_result_in_two_graphs(
    model, fresh_compiler, policy, schedule, cache_last
):
    expected = tiny.sample(tiny.attach(model, schedule, policy))
    backend = CountingBackend()
    if cache_last:
        patched = tiny.attach(compiled(model, backend, WHOLE), schedule, policy)
    else:
        patched = compiled(tiny.attach(model, schedule, policy), backend, WHOLE)
    found = [tiny.sample(patched) for _ in range(2)]
    assert backend.graphs == 2  # a full and a cached one, also in the second run
    assert not fresh_compiler["graph_break"]
    assert all(torch.equal(f, expected) for f in found)


def test_compiled_blocks_give_the_eager_result(model, fresh_compiler):
    expected = tiny.sample(tiny.attach(model, "0,1,4/8"))
    backend = CountingBackend()
    found = tiny.sample(tiny.attach(compiled(model, backend, EACH_BLOCK), "0,1,4/8"))
    assert backend.graphs == 2  # a double and a single block
    assert not fresh_compiler["graph_break"]
    assert torch.equal(found, expected)


@pytest.mark.parametrize("plain_first", [True, False])
def test_a_compiled_model_serves_plain_and_cached_runs(
    model, reference, fresh_compiler, plain_first
):
    expected = tiny.sample(tiny.attach(model, "0,1,4/8"))
    backend = CountingBackend()
    plain = compiled(model, backend, WHOLE)
    cached = tiny.attach(plain, "0,1,4/8")
    if plain_first:
        assert torch.equal(tiny.sample(plain), reference)
    assert torch.equal(tiny.sample(cached), expected)
    assert torch.equal(tiny.sample(plain), reference)
    assert torch.equal(tiny.sample(cached), expected)
    assert backend.graphs == 3


def test_a_compiled_model_serves_guided_velocities(model, fresh_compiler):
    expected = tiny.sample(tiny.attach(model, "0,1,4/8", Reuse(Site.GUIDED)))
    backend = CountingBackend()
    patched = tiny.attach(compiled(model, backend, WHOLE), "0,1,4/8", Reuse(Site.GUIDED))
    assert torch.equal(tiny.sample(patched), expected)
    assert backend.graphs == 1  # the model itself; cached steps do not call it


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning")
@pytest.mark.parametrize("name", ["AuraFlow", "Chroma Radiance", "PixelDiT"])
def test_compiled_stacks_without_a_final_layer_give_the_eager_result(name, fresh_compiler):
    case, backend = CASES[name], CountingBackend()
    model = zoo.build(case)
    (expected,) = zoo.sample(case, tiny.attach(model, "0/2"), steps=2, cfg=1.0)
    whole = compiled(model, backend, WHOLE)
    (found,) = zoo.sample(case, tiny.attach(whole, "0/2"), steps=2, cfg=1.0)
    assert backend.graphs == 2
    assert not fresh_compiler["graph_break"]
    assert torch.equal(found, expected)
    assert not torch.equal(found, zoo.sample(case, model, steps=2, cfg=1.0)[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # those of inductor itself
@NEEDS_COMPILER
def test_a_model_that_inductor_compiled_gives_the_eager_result(
    fresh_compiler, monkeypatch, tmp_path
):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    case = CASES["Wan 2.1 1.3B"]
    model = zoo.build(case)
    full, expected = (
        zoo.sample(case, each, steps=4, cfg=1.0)[0] for each in (model, tiny.attach(model, "0,2/4"))
    )
    whole = tiny.attach(compiled(model, "inductor", WHOLE), "0,2/4")
    (found,) = zoo.sample(case, whole, steps=4, cfg=1.0)
    assert fresh_compiler["stats"]["unique_graphs"] == 2  # a full and a cached one
    assert not fresh_compiler["graph_break"]
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)  # it rounds differently
    assert (expected - full).abs().max() > 0.1
