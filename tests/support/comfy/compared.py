"""Compare Run on tiny models."""

import json

import torch
from golden_path_pack.nodes.compare.compare_run import CompareRun
from golden_path_pack.nodes.sample import lpips_weights

from . import tiny

PATH, UNIFORM = "0,1,4/8", "0,3,7/8"  # as many full steps; the second is evenly spaced


class ColorVAE:
    """The first channels as colours, four pixels for each place of the latent."""

    def decode(self, latent):
        colors = latent[:, :3].movedim(1, -1).sigmoid()
        return colors.repeat_interleave(4, -3).repeat_interleave(4, -2)


VAE = ColorVAE()


def empty(batch=1):
    return {"samples": torch.zeros(batch, 16, 8, 8)}


def compare(model, **changes):
    inputs = {
        "seed": 1, "steps": 8, "cfg": 3.0, "sampler_name": "euler", "scheduler": "simple",
        "positive": tiny.conditioning(1), "negative": tiny.conditioning(2),
        "latent_image": empty(), "denoise": 1.0, "vae": VAE, "speed": "Custom", "schedule": PATH,
        "lpips": lpips_weights.OFF,
    }  # fmt: skip
    with torch.inference_mode():
        return CompareRun.execute(model, **inputs | changes)


def images(output):
    """The batch, one entry a run."""
    (batch,) = output.result[0]
    return batch.unflatten(0, (4, -1))


def report(output):
    return json.loads(output.result[3])


def seen(latent):
    with torch.inference_mode():
        return VAE.decode(latent)
