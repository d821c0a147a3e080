"""The filter of SeaCache, which keeps the signal of the tokens at a noise level."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

# Channels that are transformed at a time.
CHANNELS = 128

MARGIN = 1e-6  # smallest distance of a noise level from 0 and 1, where a weight would be zero


def axis_gain(num: int, sigma: float, power: float) -> Tensor:
    """Gain at each of ``num`` frequencies of one axis, in the order of the FFT, with mean 1.

    ``g(f) = a / (a² + b² |f|^p)``, divided by its mean, with a = 1 - σ, b = σ and f in cycles per
    token: the Wiener gain for an image whose power falls as ``|f|^-p``. float64.

    Source: SeaCache, arXiv 2602.18993, without its ε, which changes no digit that float32 keeps.
    """
    b = min(max(sigma, MARGIN), 1 - MARGIN)
    a = 1 - b
    frequency = torch.fft.fftfreq(num, dtype=torch.float64).abs()
    gain = a / (a**2 + b**2 * frequency**power)
    return gain / gain.mean()


def wiener_filtered(
    tokens: Tensor, grid: Sequence[int], sigma: float, channels: int = CHANNELS
) -> Tensor:
    """The tokens after the filter of each axis; p is 2 on an image's grid, 3 on a video's.

    The gain of several axes is the product of theirs, whose mean over the grid is 1 as well.

    Channels are filtered independently, a few at a time. Beside the result this takes 21 bytes for
    each token of ``channels`` channels of the batch (measured on a CPU; the FFT of a GPU takes a
    workspace of its own): 200 MB for the 75,600 tokens of a video of 81 frames in 720p, where all
    its channels at once would take 8 GB.

    Args:
        tokens: ``[B, T, C]`` in the order of the grid.
        grid: (H, W) or (F, H, W), T in all.
        sigma: noise level of a flow model, 0 to 1.
        channels: transformed at a time.

    Returns:
        ``[B, T, C]``, bfloat16 as the tokens, else float32: the gain of the mean can reach T, which
        is too much for float16.
    """
    if not grid or math.prod(grid) != tokens.shape[1]:
        raise ValueError(
            f"a grid of {' x '.join(map(str, grid)) or 'no axes'} does not hold "
            f"{tokens.shape[1]} tokens"
        )
    if not 0 <= sigma <= 1 + 1e-3:  # rounding
        raise ValueError(
            f"SeaCache needs a flow model, whose noise levels are 0 to 1; this one has {sigma:g}"
        )
    gain = _half_spectrum_gain(grid, sigma).to(tokens.device)
    axes = tuple(range(1, 1 + len(grid)))
    is_kept = tokens.dtype is torch.bfloat16
    result = torch.empty_like(tokens, dtype=tokens.dtype if is_kept else torch.float32)
    for begin in range(0, tokens.shape[2], channels):
        part = tokens[..., begin : begin + channels]
        spectrum = torch.fft.rfftn(part.float().unflatten(1, tuple(grid)), dim=axes)
        spectrum *= gain
        back = torch.fft.irfftn(spectrum, s=tuple(grid), dim=axes)
        result[..., begin : begin + channels] = back.flatten(1, len(grid))
    return result


def _half_spectrum_gain(grid: Sequence[int], sigma: float) -> Tensor:
    """``[*grid, 1]`` in float32; of the last axis only what the FFT of real numbers keeps."""
    gains = [axis_gain(num, sigma, power=len(grid)) for num in grid]
    gains[-1] = gains[-1][: grid[-1] // 2 + 1]
    product = torch.ones(1, dtype=torch.float64)
    for gain in reversed(gains):
        product = gain.reshape(-1, *(1,) * product.ndim) * product
    return product.float()
