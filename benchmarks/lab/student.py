"""A MODEL with guidance baked in: the image model's student of its own guided velocity.

It was trained with ``python dev.py train-demo-model -- --student``. As FLUX.1-dev, it takes the
scale of guidance as an input; the weights of that input are zero.
"""

from __future__ import annotations

from pathlib import Path

import torch

import benchmarks
from demo import comfy_model, network

WEIGHTS = Path(benchmarks.__file__).parent / "weights" / "golden_path_demo_student.safetensors"
CONFIG = {**network.FLUX_CONFIG, "guidance_embed": True}


class StudentFlux(comfy_model.DemoFlux):
    """The demo's FLUX with an input for guidance."""

    unet_config = CONFIG


def load_model():
    """A fresh MODEL."""
    weights = comfy_model.read_part(WEIGHTS, "transformer.")
    width, entries = network.FLUX_CONFIG["hidden_size"], 256
    for layer, inputs in (("in_layer", entries), ("out_layer", width)):
        weights[f"guidance_in.{layer}.weight"] = torch.zeros(width, inputs)
        weights[f"guidance_in.{layer}.bias"] = torch.zeros(width)
    return comfy_model.patcher_of(StudentFlux(dict(CONFIG)), weights, disable_dynamic=False)
