"""model/surgery: nothing is left behind: not by runs, errors, interruptions or other sizes."""

import gc
import weakref

import comfy.model_management
import pytest
import torch
from golden_path_pack.gph_core.policies.extrapolation import Taylor

from ...support.comfy import tiny
from ...support.comfy.threads import assert_same_modules, modules


def test_runs_do_not_disturb_each_other(model, reference):
    one, other = tiny.attach(model, "0,1,4/8"), tiny.attach(model, "0,3/8", Taylor(1))
    first, second = tiny.sample(one), tiny.sample(other)
    assert not torch.equal(first, second)
    assert torch.equal(tiny.sample(one), first)
    assert torch.equal(tiny.sample(other), second)
    assert torch.equal(tiny.sample(model), reference)


@pytest.mark.parametrize(
    ("step", "error"),  # full, cached, full
    [
        (0, RuntimeError),
        (2, comfy.model_management.InterruptProcessingException),
        (4, comfy.model_management.InterruptProcessingException),
    ],
)
def test_an_interruption_leaves_the_original_model(model, reference, error, step):
    before = modules(model)
    patched = tiny.attach(model, "0,1,4/8")
    expected = tiny.sample(patched)

    def interrupt(current, x0, x, total):
        if current == step:
            raise error

    with pytest.raises(error):
        tiny.sample(patched, callback=interrupt)
    assert_same_modules(model, before)
    assert torch.equal(tiny.sample(model), reference)
    assert torch.equal(tiny.sample(patched), expected)


@pytest.mark.parametrize("module", ["double_blocks.1", "final_layer"])
def test_an_error_inside_the_model_leaves_the_original_model(model, reference, module, monkeypatch):
    before = modules(model)
    calls = []

    def fail(*args, **kwargs):
        calls.append(1)
        if len(calls) > 2:  # final layer: step 2 is cached
            raise RuntimeError("broken")
        return original(*args, **kwargs)

    inner = model.model.diffusion_model.get_submodule(module)
    original = inner.forward
    with monkeypatch.context() as patch:
        patch.setattr(inner, "forward", fail)
        with pytest.raises(RuntimeError, match="broken"):
            tiny.sample(tiny.attach(model, "0,1,4/8"))
    assert_same_modules(model, before)
    assert torch.equal(tiny.sample(model), reference)


def test_a_patched_clone_is_freed_without_the_garbage_collector(model):
    # ComfyUI reports clones that wait for the collector as a memory leak.
    patched = tiny.attach(model, "0,1,4/8")
    tiny.sample(patched)
    gc.collect()
    gc.disable()
    try:
        dead = weakref.ref(patched)
        del patched
        assert dead() is None
    finally:
        gc.enable()
