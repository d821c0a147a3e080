"""The form of images ``[B, H, W, C]``: what is wrong with it in words, and grey ones in colour."""

from __future__ import annotations

from typing import Any

from torch import Tensor

FORM = "[images, height, width, 3]"


def form_fault(name: str, images: Any) -> str | None:
    """What is wrong with the form of images; None if they have one, as grey images do, too."""
    if not isinstance(images, Tensor):
        return f"the {name} must be images of the form {FORM}; found {type(images).__name__}"
    if images.ndim != 4:
        return (
            f"the {name} has the form {list(images.shape)}, {FORM} is needed; "
            f"{_to_do(images.shape)}"
        )
    if not images.is_floating_point():
        return (
            f"the {name} has whole numbers ({_dtype(images)}), numbers from 0 to 1 are needed; "
            "divide 8-bit colours by 255"
        )
    channels = images.shape[-1]
    if channels not in (1, 3):
        return f"the {name} has {channels} channels, 3 are needed (red, green, blue); " + (
            "remove the transparency first"
            if channels == 4
            else "mend the node that made it, or keep its colours alone"
        )
    return None


def in_color(images: Tensor) -> Tensor:
    """Images ``[B, H, W, 3]``: of grey ones, with one channel, it is repeated."""
    return images.expand(*images.shape[:-1], 3) if images.shape[-1] == 1 else images


def _to_do(shape: tuple[int, ...]) -> str:
    if len(shape) == 5:
        return "join the frames of all videos into one batch"
    if len(shape) == 3 and shape[-1] in (1, 3, 4):
        return "put the image into a batch of one"
    if len(shape) == 3:
        return "if it is a mask, use Convert Mask to Image"
    return "mend the node that made it"


def _dtype(images: Tensor) -> str:
    return str(images.dtype).removeprefix("torch.")
