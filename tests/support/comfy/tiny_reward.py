"""A tiny random ImageReward with the names of the published file, and its computation by hand."""

from __future__ import annotations

import math

import torch
from torch.nn.functional import conv2d, gelu, layer_norm, linear

SIDE, PATCH, SEEN, READ, LAYERS, PLACES, HEAD = 8, 4, 128, 64, 2, 40, 64
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = (*SPECIAL, "two", "red", "circle", "##s", "a", "blue", "square", ",")
SIZES = {0: (32, READ), 2: (16, 32), 4: (8, 16), 6: (4, 8), 7: (1, 4)}  # of the head


def weights(seed=0):
    """Random weights by the names of the published file, those that nobody uses included."""
    generator = torch.Generator().manual_seed(seed)
    found = {}

    def add(name, *shape, scale=0.3):
        found[name] = scale * torch.randn(*shape, generator=generator)

    def dense(name, out, into):
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out)

    def norm(name, width):
        add(f"{name}.weight", width)
        found[f"{name}.weight"] += 1
        add(f"{name}.bias", width)

    see, read = "blip.visual_encoder", "blip.text_encoder"
    add(f"{see}.cls_token", 1, 1, SEEN)
    add(f"{see}.pos_embed", 1, (SIDE // PATCH) ** 2 + 1, SEEN)
    add(f"{see}.patch_embed.proj.weight", SEEN, 3, PATCH, PATCH)
    add(f"{see}.patch_embed.proj.bias", SEEN)
    for n in range(LAYERS):
        norm(f"{see}.blocks.{n}.norm1", SEEN)
        norm(f"{see}.blocks.{n}.norm2", SEEN)
        dense(f"{see}.blocks.{n}.attn.qkv", 3 * SEEN, SEEN)
        dense(f"{see}.blocks.{n}.attn.proj", SEEN, SEEN)
        dense(f"{see}.blocks.{n}.mlp.fc1", 2 * SEEN, SEEN)
        dense(f"{see}.blocks.{n}.mlp.fc2", SEEN, 2 * SEEN)
    norm(f"{see}.norm", SEEN)
    # As small as published ones, so that what a norm adds to a variance has an effect.
    add(f"{read}.embeddings.word_embeddings.weight", len(WORDS) + 2, READ, scale=0.01)
    add(f"{read}.embeddings.position_embeddings.weight", PLACES, READ, scale=0.01)
    norm(f"{read}.embeddings.LayerNorm", READ)
    found[f"{read}.embeddings.position_ids"] = torch.arange(PLACES)[None]
    for n in range(LAYERS):
        for part, width in (("attention", READ), ("crossattention", SEEN)):
            name = f"{read}.encoder.layer.{n}.{part}"
            dense(f"{name}.self.query", READ, READ)
            dense(f"{name}.self.key", READ, width)
            dense(f"{name}.self.value", READ, width)
            dense(f"{name}.output.dense", READ, READ)
            norm(f"{name}.output.LayerNorm", READ)
        dense(f"{read}.encoder.layer.{n}.intermediate.dense", 2 * READ, READ)
        dense(f"{read}.encoder.layer.{n}.output.dense", READ, 2 * READ)
        norm(f"{read}.encoder.layer.{n}.output.LayerNorm", READ)
    dense("blip.vision_proj", 16, SEEN)
    dense("blip.text_proj", 16, READ)
    for n, (out, into) in SIZES.items():
        dense(f"mlp.layers.{n}", out, into)
    return found


class ByHand:
    """ImageReward in plain operations, with padding and masks as its authors compute it."""

    def __init__(self, weights):
        self.weights = {key: value.double() for key, value in weights.items()}

    def reward(self, pixels, tokens, padded_to=35):
        """Raw reward of an image ``[3, H, W]`` for a list of tokens."""
        attended = [1] * len(tokens) + [0] * (padded_to - len(tokens))
        tokens = tokens + [0] * (padded_to - len(tokens))
        found = self.read(tokens, attended, self.see(pixels.double()))
        for n in SIZES:
            found = self.dense(f"mlp.layers.{n}", found)
        return float(found)

    def see(self, pixels):
        see, w = "blip.visual_encoder", self.weights
        name = f"{see}.patch_embed.proj"
        patches = conv2d(pixels[None], w[f"{name}.weight"], w[f"{name}.bias"], PATCH)
        x = (
            torch.cat([w[f"{see}.cls_token"][0], patches[0].flatten(1).T])
            + w[f"{see}.pos_embed"][0]
        )
        for n in range(LAYERS):
            block = f"{see}.blocks.{n}"
            q, k, v = self.dense(f"{block}.attn.qkv", self.norm(f"{block}.norm1", x, 1e-6)).chunk(
                3, 1
            )
            x = x + self.dense(f"{block}.attn.proj", attention(q, k, v))
            inner = gelu(self.dense(f"{block}.mlp.fc1", self.norm(f"{block}.norm2", x, 1e-6)))
            x = x + self.dense(f"{block}.mlp.fc2", inner)
        return self.norm(f"{see}.norm", x, 1e-6)

    def read(self, tokens, attended, seen):
        """What the text encoder has at the first token in the end."""
        read, w = "blip.text_encoder", self.weights
        x = w[f"{read}.embeddings.word_embeddings.weight"][tokens]
        x = x + w[f"{read}.embeddings.position_embeddings.weight"][: len(tokens)]
        x = self.norm(f"{read}.embeddings.LayerNorm", x, 1e-12)
        mask = -10000.0 * (1 - torch.tensor(attended, dtype=torch.float64))
        for n in range(LAYERS):
            layer = f"{read}.encoder.layer.{n}"
            x = self.attended(f"{layer}.attention", x, x, mask)
            x = self.attended(f"{layer}.crossattention", x, seen, torch.zeros(len(seen)))
            inner = gelu(self.dense(f"{layer}.intermediate.dense", x))
            inner = self.dense(f"{layer}.output.dense", inner)
            x = self.norm(f"{layer}.output.LayerNorm", x + inner, 1e-12)
        return x[0]

    def attended(self, name, x, others, mask):
        query = self.dense(f"{name}.self.query", x)
        key, value = (self.dense(f"{name}.self.{part}", others) for part in ("key", "value"))
        found = self.dense(f"{name}.output.dense", attention(query, key, value, mask))
        return self.norm(f"{name}.output.LayerNorm", x + found, 1e-12)

    def dense(self, name, x):
        return linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, name, x, epsilon):
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return layer_norm(x, x.shape[-1:], weight, bias, epsilon)


def attention(query, key, value, mask=0.0):
    """Attention in heads of 64 numbers."""
    found = [
        (q @ k.T / math.sqrt(HEAD) + mask).softmax(-1) @ v
        for q, k, v in zip(*(x.split(HEAD, 1) for x in (query, key, value)), strict=True)
    ]
    return torch.cat(found, 1)
