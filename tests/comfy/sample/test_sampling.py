"""Sampling as ComfyUI's own nodes do it, again and again."""

import comfy.cli_args
import comfy.samplers
import pytest
import torch
from comfy_extras import nodes_custom_sampler as custom
from comfy_extras.nodes_easycache import EasyCacheNode, LazyCacheNode
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.compare.compare_session import sampling_of

from ...support.comfy import tiny
from ...support.zoo import zoo

SCHEDULE = Schedule.parse("0-2,5/8")


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def cfg(model):
    guider = comfy.samplers.CFGGuider(model)
    guider.set_conds(tiny.conditioning(1), tiny.conditioning(2))
    guider.set_cfg(3.0)
    return guider


def sampling(model, sampler=None):
    latent = {"samples": torch.zeros(1, 16, 8, 8)}
    sampler = sampler or comfy.samplers.sampler_object("euler")
    return sampling_of(cfg(model), latent, sampler, zoo.sigmas(model, 8), seed=7)


def test_churn_adds_the_noise_that_it_adds_in_comfyui_and_the_same_in_each_run(model):
    sampler = comfy.samplers.ksampler("euler", {"s_churn": 2.0})
    work = sampling(model, sampler)
    torch.manual_seed(3)
    found = work.full()
    out, _ = custom.SamplerCustomAdvanced.execute(
        custom.Noise_RandomNoise(7), cfg(model), sampler, work.sigmas, {"samples": work.latent}
    ).result
    assert torch.equal(found, out["samples"])
    assert torch.equal(found, work.full())


def test_latents_have_the_dtype_that_ksampler_gives_them(model, monkeypatch):
    monkeypatch.setattr(comfy.cli_args.args, "fp16_intermediates", True)
    assert tiny.sample(model).dtype == torch.float16
    assert sampling(model).full().dtype == torch.float16
    latent, _ = sampling(model).cached(SCHEDULE, Reuse())
    assert latent.dtype == torch.float16


@pytest.mark.parametrize("node", [EasyCacheNode, LazyCacheNode])
def test_another_cache_is_refused_as_there_would_be_no_full_run(model, node):
    (other,) = node.execute(model, 0.2, 0.15, 0.95, False).result
    name = node.define_schema().node_id
    with pytest.raises(ValueError, match=f"{name} is active .*; take {name} out of the workflow"):
        sampling(other)
    assert sampling(model)
