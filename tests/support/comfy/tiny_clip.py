"""A tiny random CLIP, as the library transformers has it and as ComfyUI loads it."""

from __future__ import annotations

from types import SimpleNamespace

import comfy.clip_vision
import comfy.sd
import comfy.sd1_clip
import torch
from safetensors.torch import save_file
from transformers import CLIPConfig, CLIPModel

SIDE, WIDTH = 28, 32  # pixels of an image, numbers of an embedding
TEXT = {
    "hidden_size": WIDTH, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 3,
    "hidden_act": "quick_gelu", "max_position_embeddings": 77, "eos_token_id": 49407,
}  # fmt: skip
VISION = {
    "hidden_size": 48, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 3,
    "hidden_act": "quick_gelu", "image_size": SIDE, "patch_size": 14, "num_channels": 3,
}  # fmt: skip


def published(width=WIDTH, seed=0):
    """A CLIP of transformers with random weights that fit into 16 bits."""
    torch.manual_seed(seed)
    text = TEXT | {"hidden_size": width, "vocab_size": 49408, "bos_token_id": 49406}
    config = CLIPConfig(text_config=text, vision_config=VISION, projection_dim=width)
    model = CLIPModel(config).eval()
    for weight in model.parameters():  # larger than at the start of a training: all has an effect
        weight.data = (weight.data + 0.1 * torch.randn_like(weight)).half().float()
    return model


def vision(model, **changes):
    """ComfyUI's CLIP_VISION with the weights of a CLIP; ``changes`` are of its configuration."""
    width = model.config.projection_dim
    config = VISION | {"projection_dim": width, "model_type": "clip_vision_model"} | changes
    found = comfy.clip_vision.ClipVisionModel({k: v for k, v in config.items() if v is not None})
    weights = model.state_dict().items()
    found.load_sd({k: v.clone() for k, v in weights if k.startswith(("vision_", "visual_"))})
    return found


def text(model, without=()):
    """ComfyUI's CLIP with the weights of a CLIP, but for some."""
    width = model.config.projection_dim
    target = SimpleNamespace(
        params={}, clip=comfy.sd1_clip.SD1ClipModel, tokenizer=comfy.sd1_clip.SD1Tokenizer
    )
    options = {"clip_l_model_config": TEXT | {"hidden_size": width}}
    return comfy.sd.CLIP(target, state_dict=[weights(model, without)], model_options=options)


def weights(model, without=()):
    """Weights of the text encoder, by their names in a file."""
    return {
        key: value.clone()
        for key, value in model.state_dict().items()
        if key.startswith("text_") and key not in without
    }


def saved(model, path, without=()):
    """A CLIP of ComfyUI that knows the file that it comes from, as its loaders leave it."""
    save_file(weights(model, without), path)
    found = text(model)
    found.patcher.cached_patcher_init = (None, ([str(path)], None))
    return found
