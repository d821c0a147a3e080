"""Pictures of two sizes brought to one, so that they can be compared pixel by pixel."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import interpolate


def at_one_size(reference: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Two batches ``[B, H, W, C]`` at the smaller height and width of both; nothing is enlarged.

    A batch that has this size already is returned as it is.
    """
    height, width = (min(batch.shape[axis] for batch in (reference, test)) for axis in (1, 2))
    if not height or not width:
        return reference, test
    return _scaled(reference, (height, width)), _scaled(test, (height, width))


def _scaled(images: Tensor, size: tuple[int, int]) -> Tensor:
    if tuple(images.shape[1:3]) == size:
        return images
    # Means of squares undo an enlargement best, but fit only where the squares are whole pixels.
    is_whole = not any(side % to for side, to in zip(images.shape[1:3], size, strict=True))
    mode = "area" if is_whole else "bicubic"
    pictures = []
    for image in images.split(1):  # a video is large
        scaled = interpolate(
            image.float().movedim(-1, 1), size=size, mode=mode, antialias=not is_whole
        )
        pictures.append(scaled.clamp(image.min(), image.max()))  # bicubic overshoots at edges
    return torch.cat(pictures).movedim(1, -1)
