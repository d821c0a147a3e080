"""A MODEL with guidance baked in: a student of the image model's guided velocity.

Students were trained with ``python dev.py train-demo-model -- --student``, some for few steps. As
FLUX.1-dev, they take the scale of guidance as an input; the weights of that input are zero.
"""

from __future__ import annotations

from pathlib import Path

import torch

import benchmarks
from demo import comfy_model, network

FOLDER = Path(benchmarks.__file__).parent / "weights"
WEIGHTS = FOLDER / "golden_path_demo_student.safetensors"
CONFIG = {**network.FLUX_CONFIG, "guidance_embed": True}


class StudentFlux(comfy_model.DemoFlux):
    """The demo's FLUX with an input for guidance."""

    unet_config = CONFIG


def of_steps(steps: int) -> Path:
    """The weights of a student that takes so few steps."""
    return FOLDER / f"golden_path_demo_{steps}_steps.safetensors"


def load_model(file: Path = WEIGHTS):
    """A fresh MODEL."""
    weights = comfy_model.read_part(file, "transformer.")
    width, entries = network.FLUX_CONFIG["hidden_size"], 256
    for layer, inputs in (("in_layer", entries), ("out_layer", width)):
        weights[f"guidance_in.{layer}.weight"] = torch.zeros(width, inputs)
        weights[f"guidance_in.{layer}.bias"] = torch.zeros(width)
    return comfy_model.patcher_of(StudentFlux(dict(CONFIG)), weights, disable_dynamic=False)
