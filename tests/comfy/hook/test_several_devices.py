"""hook/branch_calls: ComfyUI's *MultiGPU CFG Split*, with two names of the CPU as two GPUs.

Each prompt is computed by a model of its own, in a thread of its own, at the same time.
"""

import copy
import threading

import comfy.model_management
import pytest
import torch
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse, TokenTaylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny
from ...support.comfy.extensions import CountedControl, controlled

multigpu = pytest.importorskip("comfy.multigpu")
nodes_multigpu = pytest.importorskip("comfy_extras.nodes_multigpu")

SCHEDULE = "0-2,5/8"
BLOCKS = 5
DEVICES = [torch.device("cpu"), torch.device("cpu", 0)]


@pytest.fixture
def two_devices(monkeypatch):
    assert DEVICES[0] != DEVICES[1]
    # The node looks through these, and stumbles over one of an earlier test that is gone.
    monkeypatch.setattr(comfy.model_management, "current_loaded_models", [])
    monkeypatch.setattr(
        comfy.model_management, "get_all_torch_devices", lambda exclude_current=False: DEVICES
    )


@pytest.fixture
def loaded():
    """A tiny FLUX that its loader can load again, as ComfyUI's loaders can."""
    model = tiny.flux()
    model.cached_patcher_init = (tiny.flux, ())
    return model


def split(model):
    """The model behind ComfyUI's node."""
    result = nodes_multigpu.MultiGPUCFGSplitNode.execute(model, 2).result[0]
    assert len(result.get_additional_models_with_key("multigpu")) == 1
    return result


def called(model):
    """The sample, with the thread and the transformer of each call of a first block."""
    calls, handles = [], []
    for patcher in (model, *model.get_additional_models_with_key("multigpu")):
        for block in patcher.model.diffusion_model.double_blocks[:1]:
            handles.append(
                block.register_forward_pre_hook(
                    lambda block, _: calls.append((threading.get_ident(), id(block)))
                )
            )
    sample = tiny.sample(model)
    for handle in handles:
        handle.remove()
    return sample, calls


def test_two_devices_compute_a_prompt_each(loaded, two_devices):
    sample, calls = called(split(loaded))
    assert len(calls) == 2 * 8
    assert len(set(calls)) == 2
    assert len({thread for thread, _ in calls}) == 2
    # A prompt alone and a batch of both may round differently.
    torch.testing.assert_close(sample, tiny.sample(tiny.flux()), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("policy", "split_first"),
    [
        (Reuse(), True), (TwoAnchor(), False), (TokenTaylor(), True), (Reuse(Site.OUTPUT), False),
        (Reuse(Site.GUIDED), True),
    ],
    ids=str,
)  # fmt: skip
def test_a_cache_on_two_devices_gives_what_it_gives_on_one(
    loaded, two_devices, policy, split_first
):
    listener = tiny.Listener()
    expected = tiny.sample(tiny.attach(tiny.flux(), SCHEDULE, policy, listener))
    if split_first:
        patched = tiny.attach(split(loaded), SCHEDULE, policy, listener)
    else:
        patched = split(tiny.attach(loaded, SCHEDULE, policy, listener))
    sample, calls = called(patched)
    alone, record = listener.records
    assert record.full_steps == (0, 1, 2, 5)
    assert record.notes == alone.notes
    assert len({thread for thread, _ in calls}) == 2
    torch.testing.assert_close(sample, expected, rtol=1e-4, atol=1e-4)
    assert (sample - tiny.sample(tiny.flux())).std() > 0.01


def test_full_steps_on_two_devices_are_those_without_the_cache(loaded, two_devices):
    both = split(loaded)
    plain = tiny.sample(both)
    assert torch.equal(tiny.sample(tiny.attach(both, "0-7/8")), plain)


def test_cached_steps_run_no_block_on_either_device(loaded, two_devices, monkeypatch):
    patched = tiny.attach(split(loaded), SCHEDULE)
    with tiny.counted_blocks(monkeypatch) as count:
        tiny.sample(patched)
    assert count[0] == 2 * 4 * BLOCKS


def test_the_residuals_of_both_devices_are_counted(loaded, two_devices):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(split(loaded), SCHEDULE, listener=listener))
    # Two prompts, 16 tokens of 64 channels in float32.
    assert listener.records[0].cache_bytes == 2 * 16 * 64 * 4


def test_a_control_is_evaluated_at_every_step(loaded, two_devices):
    # ComfyUI's copies of it for each device are looked at outside this pack's calls.
    class Control(CountedControl):
        def deepclone_multigpu(self, load_device, autoregister=False):
            copied = copy.copy(self)
            copied.multigpu_clones = {}
            self.multigpu_clones[load_device] = copied
            return copied

    listener, control = tiny.Listener(), Control()
    sample = controlled(split(loaded), control, SCHEDULE, listener=listener)
    (other,) = control.multigpu_clones.values()
    assert listener.records[0].full_steps == (0, 1, 2, 5)
    assert (control.calls, other.calls) == (8, 8)  # one device for each prompt
    expected = controlled(tiny.flux(), CountedControl(), SCHEDULE)
    torch.testing.assert_close(sample, expected, rtol=1e-4, atol=1e-4)
