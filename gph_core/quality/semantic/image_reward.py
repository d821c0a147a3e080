"""The network of ImageReward: BLIP reads a prompt in view of an image, a head gives a reward.

A vision transformer encodes the image, a text encoder reads the prompt with cross attention to it,
and its output at the first token goes through linear layers. BLIP's parts come from the library
transformers, which ComfyUI needs itself.

Source: Xu et al. 2023, "ImageReward: Learning and Evaluating Human Preferences for Text-to-Image
Generation", and the authors' program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

MOST_TOKENS = 35  # of a prompt, with the first and the last one
_HEAD = 64  # numbers of an attention head, in both of BLIP's parts
_UNUSED = re.compile(r"blip\.(vision_proj|text_proj)\.|.*position_ids$")  # of BLIP's training
_RENAMED = (
    (r"^blip\.visual_encoder\.cls_token$", "vision.embeddings.class_embedding"),
    (r"^blip\.visual_encoder\.pos_embed$", "vision.embeddings.position_embedding"),
    (r"^blip\.visual_encoder\.patch_embed\.proj\.", "vision.embeddings.patch_embedding."),
    (r"^blip\.visual_encoder\.norm\.", "vision.post_layernorm."),
    (
        r"^blip\.visual_encoder\.blocks\.(\d+)\.norm(\d)\.",
        r"vision.encoder.layers.\1.layer_norm\2.",
    ),
    (
        r"^blip\.visual_encoder\.blocks\.(\d+)\.attn\.qkv\.",
        r"vision.encoder.layers.\1.self_attn.qkv.",
    ),
    (
        r"^blip\.visual_encoder\.blocks\.(\d+)\.attn\.proj\.",
        r"vision.encoder.layers.\1.self_attn.projection.",
    ),
    (r"^blip\.visual_encoder\.blocks\.(\d+)\.mlp\.", r"vision.encoder.layers.\1.mlp."),
    (r"^blip\.text_encoder\.", "text."),
    (r"^mlp\.layers\.", "head."),
)


class ImageRewardNetwork(nn.Module):
    """Network of the sizes that its weights have, without any weights yet.

    Raises ``ImportError`` without transformers, and ``KeyError`` for a weight that is missing.

    Args:
        weights: by their names here.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        from transformers import BlipTextModel, BlipVisionModel

        vision, text = _vision_config(weights), _text_config(weights)
        self.side: int = vision.image_size  # width and height of the images, in pixels
        self.num_words: int = text.vocab_size - 2  # BLIP adds two, which are not used here
        self.vision = BlipVisionModel(vision)
        self.text = BlipTextModel(text, add_pooling_layer=False)
        # The layers keep their numbers in the published file, which counts dropout between them.
        numbers = sorted({int(key.split(".")[1]) for key in weights if key.startswith("head.")})
        sizes = {str(n): weights[f"head.{n}.weight"].shape for n in numbers}
        self.head = nn.ModuleDict({n: nn.Linear(size[1], size[0]) for n, size in sizes.items()})

    def forward(self, images: Tensor, tokens: Tensor) -> Tensor:
        """Rewards ``[B]``, not standardized.

        Args:
            images: ``[B, 3, side, side]`` with the mean and deviation of CLIP's.
            tokens: ``[B, L]`` of prompts without padding.
        """
        seen = self.vision(pixel_values=images).last_hidden_state
        # A decoder has cross attention; this one reads in both directions.
        read = self.text(input_ids=tokens, encoder_hidden_states=seen, is_decoder=False)
        reward = read.last_hidden_state[:, 0]
        for layer in self.head.values():
            reward = layer(reward)
        return reward[:, 0]


def network_of(weights: Mapping[str, Tensor]) -> ImageRewardNetwork:
    """Network with the weights of a published file, in float32, ready to judge.

    Raises:
        ImportError: transformers is missing.
        ValueError: the weights are not those of an ImageReward.
    """
    named = {_renamed(key): value for key, value in weights.items() if not _UNUSED.match(key)}
    try:
        with torch.device("meta"):  # without drawing weights that are overwritten
            network = ImageRewardNetwork(named)
        network.load_state_dict({key: value.float() for key, value in named.items()}, assign=True)
    except (KeyError, RuntimeError, IndexError) as error:
        raise ValueError(
            f"its weights are not those of an ImageReward ({' '.join(str(error).split())[:200]})"
        ) from error
    positions = network.text.config.max_position_embeddings
    places = torch.arange(positions).expand(1, -1)
    network.text.embeddings.register_buffer("position_ids", places, persistent=False)
    return network.eval().requires_grad_(False)


def _renamed(key: str) -> str:
    for pattern, name in _RENAMED:
        key, count = re.subn(pattern, name, key)
        if count:
            break
    return key


def _layers(weights: Mapping[str, Tensor], prefix: str) -> int:
    """Number of layers below a prefix."""
    return len({key[len(prefix) :].split(".")[0] for key in weights if key.startswith(prefix)})


def _vision_config(weights: Mapping[str, Tensor]) -> Any:
    from transformers import BlipVisionConfig

    width, _, patch, _ = weights["vision.embeddings.patch_embedding.weight"].shape
    places = weights["vision.embeddings.position_embedding"].shape[1] - 1
    return BlipVisionConfig(
        hidden_size=width,
        intermediate_size=weights["vision.encoder.layers.0.mlp.fc1.weight"].shape[0],
        num_hidden_layers=_layers(weights, "vision.encoder.layers."),
        num_attention_heads=width // _HEAD,
        image_size=math.isqrt(places) * patch,
        patch_size=patch,
        hidden_act="gelu",
        layer_norm_eps=1e-6,  # as BLIP was trained; the library's own default is another
    )


def _text_config(weights: Mapping[str, Tensor]) -> Any:
    from transformers import BlipTextConfig

    words, width = weights["text.embeddings.word_embeddings.weight"].shape
    return BlipTextConfig(
        vocab_size=words,
        hidden_size=width,
        encoder_hidden_size=weights["text.encoder.layer.0.crossattention.self.key.weight"].shape[1],
        intermediate_size=weights["text.encoder.layer.0.intermediate.dense.weight"].shape[0],
        num_hidden_layers=_layers(weights, "text.encoder.layer."),
        num_attention_heads=width // _HEAD,
        max_position_embeddings=weights["text.embeddings.position_embeddings.weight"].shape[0],
        hidden_act="gelu",
        layer_norm_eps=1e-12,
        pad_token_id=0,
        is_decoder=True,
    )
