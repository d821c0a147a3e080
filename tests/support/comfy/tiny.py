"""A tiny random FLUX of ComfyUI's real classes, under a cache plan, sampled as a node would."""

from __future__ import annotations

import contextlib

import comfy.ldm.flux.layers
import comfy.model_patcher
import comfy.sample
import comfy.samplers
import comfy.supported_models
import torch
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.run_plan import fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook import patching

from ..zoo import zoo

BLOCKS = (comfy.ldm.flux.layers.DoubleStreamBlock, comfy.ldm.flux.layers.SingleStreamBlock)

CONFIG = {
    "image_model": "flux", "in_channels": 16, "out_channels": 16, "patch_size": 2, "vec_in_dim": 16,
    "context_in_dim": 24, "hidden_size": 64, "mlp_ratio": 2.0, "num_heads": 2, "depth": 2,
    "depth_single_blocks": 3, "axes_dim": [8, 12, 12], "theta": 10_000, "qkv_bias": True,
    "guidance_embed": True, "txt_ids_dims": [],
}  # fmt: skip


def flux(dtype=torch.float32, compute=None, **changes):
    """A MODEL with seeded random weights, kept in one dtype and computed in another if given."""
    config = comfy.supported_models.Flux(CONFIG | changes)
    config.set_inference_dtype(dtype, compute)
    model = config.get_model({}, "")
    zoo.randomize(model.diffusion_model)
    return comfy.model_patcher.ModelPatcher(
        model, load_device=torch.device("cpu"), offload_device=torch.device("cpu")
    )


def conditioning(seed, tokens=5):
    generator = torch.Generator().manual_seed(seed)
    cross = torch.randn(1, tokens, CONFIG["context_in_dim"], generator=generator)
    pooled = torch.randn(1, CONFIG["vec_in_dim"], generator=generator)
    return [[cross, {"pooled_output": pooled}]]


def sample(
    model, steps=8, sampler="euler", cfg=3.0, size=8, noise=None, negative_tokens=5, callback=None
):
    """Latents ``[B, 16, size, size]`` sampled as KSampler does, under inference mode."""
    if noise is None:
        noise = comfy.sample.prepare_noise(torch.zeros(1, 16, size, size), seed=1)
    latent = torch.zeros_like(noise)
    with torch.inference_mode():
        result = comfy.sample.sample(
            model, noise, steps, cfg, sampler, "simple",
            conditioning(1), conditioning(2, negative_tokens), latent,
            disable_pbar=True, seed=1, callback=callback,
        )  # fmt: skip
    return result.clone()


class Listener:
    """A reporter that keeps what it is told."""

    def __init__(self):
        self.plans, self.refusals, self.steps, self.records = [], [], [], []
        self.refused, self.finished = self.refusals.append, self.records.append

    def planned(self, line, choice):
        self.plans.append(line)

    def started(self, run):
        pass

    def stepped(self, step, kind):
        self.steps.append((step, kind))


def attach(model, schedule, policy=None, listener=None):
    """A clone that samples under a schedule in text form."""
    plan = fixed(Schedule.parse(schedule), policy or Reuse())
    return patching.attach(model, plan, listener or Listener())


@contextlib.contextmanager
def counted_blocks(monkeypatch):
    """Counts calls of transformer blocks."""
    count = [0]
    with monkeypatch.context() as patch:
        for block in BLOCKS:
            original = block.forward

            def forward(self, *args, _original=original, **kwargs):
                count[0] += 1
                return _original(self, *args, **kwargs)

            patch.setattr(block, "forward", forward)
        yield count
