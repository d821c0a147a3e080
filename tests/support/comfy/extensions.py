"""What other extensions do to a tiny FLUX: controls, and blocks that are replaced."""

import comfy.controlnet
import comfy.sample
import torch

from . import tiny


def scales_tokens(args, extra):
    return extra["original_block"](args | {"img": args["img"] * 1.5})


def skips_the_block(args, extra):
    return args


class CountedControl(comfy.controlnet.ControlBase):
    """Adds ones to the image tokens between two noise levels, counting its evaluations."""

    def __init__(self, begin=1e9, end=0.0):
        super().__init__()
        self.limits, self.calls = (begin, end), 0

    def pre_run(self, model, percent_to_timestep_function):
        self.timestep_range = self.limits

    def get_control(self, x, t, cond, batched_number, options):
        begin, end = self.limits
        if not end <= float(t[0]) <= begin:
            return None
        self.calls += 1
        return {"input": [torch.ones(x.shape[0], 16, 64)] * 2, "output": []}


def controlled(model, control, schedule=None, cfg=3.0, listener=None):
    latent = torch.zeros(1, 16, 8, 8)
    prompts = [
        [[c[0][0], c[0][1] | {"control": control, "control_apply_to_uncond": False}]]
        for c in (tiny.conditioning(1), tiny.conditioning(2))
    ]
    patched = tiny.attach(model, schedule, listener=listener) if schedule else model
    with torch.inference_mode():
        return comfy.sample.sample(
            patched, comfy.sample.prepare_noise(latent, seed=1), 8, cfg, "euler", "simple",
            *prompts, latent, disable_pbar=True, seed=1,
        ).clone()  # fmt: skip
