"""A forward pass through ComfyUI's Flux modules that autograd can follow.

ComfyUI's blocks add to their inputs in place and its fused rotary embedding has no gradient, so
the class itself cannot be trained. This is the same mathematics over the same modules, for what the
demo model uses of them; a test compares the two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:  # ComfyUI is on the path only where the model is used
    from comfy.ldm.flux.model import Flux


def velocity(flux: Flux, latents: Tensor, times: Tensor, tokens: Tensor, pooled: Tensor) -> Tensor:
    """Predicted velocity (noise − image) of noisy latents.

    Args:
        flux: a ``comfy.ldm.flux.model.Flux`` with patch size 1.
        latents: ``[B, C, H, W]`` at noise levels ``times``.
        times: ``[B]`` noise levels in [0, 1].
        tokens: ``[B, L, D]`` text tokens.
        pooled: ``[B, D]`` pooled text vector.

    Returns:
        ``[B, C, H, W]``.
    """
    height, width = latents.shape[-2:]
    image = flux.img_in(latents.flatten(2).transpose(1, 2))
    text = flux.txt_in(tokens)
    assert flux.vector_in is not None  # the demo's configuration has one
    vector = flux.time_in(_sinusoids(times)) + flux.vector_in(pooled)
    rotation = _rotation(flux, text.shape[1], height, width)
    for block in flux.double_blocks:
        image, text = _double_block(block, image, text, vector, rotation)
    stream = torch.cat((text, image), 1)
    for block in flux.single_blocks:
        stream = _single_block(block, stream, vector, rotation)
    shift, scale = flux.final_layer.adaLN_modulation(vector)[:, None].chunk(2, dim=-1)
    image = flux.final_layer.norm_final(stream[:, text.shape[1] :])
    image = flux.final_layer.linear(image * (1 + scale) + shift)
    return image.transpose(1, 2).unflatten(2, (height, width))


def _sinusoids(times: Tensor, channels: int = 256) -> Tensor:
    half = channels // 2
    frequencies = torch.exp(-math.log(10_000) / half * torch.arange(half, device=times.device))
    angles = 1000 * times[:, None] * frequencies
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


def _rotation(flux: Flux, text_length: int, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine ``[L + H·W, head channels / 2]``: text at the origin, images on a grid."""
    device = flux.img_in.weight.device
    sides = (torch.arange(side, device=device) for side in (height, width))
    rows, columns = torch.meshgrid(*sides, indexing="ij")
    grid = torch.stack((torch.zeros_like(rows), rows, columns), dim=-1).flatten(0, 1)
    places = torch.cat((torch.zeros(text_length, 3, device=device), grid)).double()
    angles = []
    for axis, channels in enumerate(flux.params.axes_dim):
        exponents = torch.arange(0, channels, 2, dtype=torch.float64, device=device) / channels
        angles.append(places[:, axis, None] / flux.params.theta**exponents)
    angle = torch.cat(angles, dim=-1).float()
    return angle.cos(), angle.sin()


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = rotation
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2).type_as(x)


def _modulate(norm: nn.Module, x: Tensor, modulation) -> Tensor:
    return norm(x) * (1 + modulation.scale) + modulation.shift


def _heads(qkv: Tensor, num_heads: int, norm) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = qkv.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
    return norm.query_norm(q).type_as(v), norm.key_norm(k).type_as(v), v


def _attend(q: Tensor, k: Tensor, v: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    # Written out: on CPU the backward pass of torch's fused attention takes half the training time.
    q, k = _rotate(q, rotation), _rotate(k, rotation)
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2)


def _double_block(block, image: Tensor, text: Tensor, vector: Tensor, rotation):
    image_1, image_2 = block.img_mod(vector)
    text_1, text_2 = block.txt_mod(vector)
    heads = block.num_heads
    image_qkv = block.img_attn.qkv(_modulate(block.img_norm1, image, image_1))
    text_qkv = block.txt_attn.qkv(_modulate(block.txt_norm1, text, text_1))
    streams = zip(
        _heads(text_qkv, heads, block.txt_attn.norm),
        _heads(image_qkv, heads, block.img_attn.norm),
        strict=True,
    )
    q, k, v = (torch.cat(pair, 2) for pair in streams)
    attention = _attend(q, k, v, rotation)
    text_out, image_out = attention.split((text.shape[1], image.shape[1]), 1)
    image = image + image_1.gate * block.img_attn.proj(image_out)
    image = image + image_2.gate * block.img_mlp(_modulate(block.img_norm2, image, image_2))
    text = text + text_1.gate * block.txt_attn.proj(text_out)
    text = text + text_2.gate * block.txt_mlp(_modulate(block.txt_norm2, text, text_2))
    return image, text


def _single_block(block, stream: Tensor, vector: Tensor, rotation) -> Tensor:
    modulation, _ = block.modulation(vector)
    joint = block.linear1(_modulate(block.pre_norm, stream, modulation))
    qkv, hidden = joint.split((3 * block.hidden_size, block.mlp_hidden_dim), -1)
    attention = _attend(*_heads(qkv, block.num_heads, block.norm), rotation)
    out = block.linear2(torch.cat((attention, block.mlp_act(hidden)), -1))
    return stream + modulation.gate * out
