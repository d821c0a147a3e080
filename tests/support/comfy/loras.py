"""A LoRA on a tiny FLUX."""

import comfy.sd
import torch

LAYER = "diffusion_model.double_blocks.1.img_mlp.0"


def lora(model, strength=1.0):
    """The model with the LoRA, through ComfyUI's loader."""
    patched, _ = comfy.sd.load_lora_for_models(model, None, tensors(model), strength, 0)
    assert patched.patches
    return patched


def tensors(model, rank=4):
    """A LoRA of one layer as a file holds it."""
    weight = model.model.get_submodule(LAYER).weight
    generator = torch.Generator().manual_seed(9)
    up = torch.randn(weight.shape[0], rank, generator=generator) / 4
    down = torch.randn(rank, weight.shape[1], generator=generator) / 4
    return {f"{LAYER}.lora_up.weight": up, f"{LAYER}.lora_down.weight": down}
