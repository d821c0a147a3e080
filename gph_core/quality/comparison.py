"""Comparison of two batches of images: the metrics of each item and their means."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from torch import Tensor

from .metric_table import OF_FRAMES

Measure = Callable[[Tensor, Tensor], Tensor]

FORM = "[images, height, width, 3]"
IDENTICAL = "identical"  # stands for infinity, which JSON does not have


@dataclass(frozen=True)
class Figures:
    """One metric of all items."""

    values: tuple[float, ...]

    @property
    def num_identical(self) -> int:
        """Items without any difference, where a metric such as PSNR is infinite."""
        return sum(map(math.isinf, self.values))

    @property
    def mean(self) -> float:
        """Mean over the items that differ, as one identical item makes it infinite."""
        return statistics.fmean([x for x in self.values if not math.isinf(x)] or [math.inf])

    def to_dict(self) -> dict[str, Any]:
        values = [in_json(value) for value in self.values]
        return {"mean": in_json(self.mean), "identical": self.num_identical, "values": values}


@dataclass(frozen=True)
class Comparison:
    """Figures by metric, and reasons why others were not measured."""

    figures: Mapping[str, Figures]
    unavailable: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        metrics = {name: figures.to_dict() for name, figures in self.figures.items()}
        return {"metrics": metrics, "unavailable": dict(self.unavailable)}


def compare(
    reference: Tensor,
    test: Tensor,
    metrics: Mapping[str, Measure],
    ticked: Callable[[], None] = lambda: None,
    clip: int | None = None,
) -> Comparison:
    """Measure item by item two batches ``[B, C, H, W]``; ``ticked`` is called after each item.

    A metric that lacks a package or refuses the images is left out with its reason.

    Args:
        clip: frames of each video, for metrics of consecutive frames; None: there is one video.
    """
    values: dict[str, list[float]] = {name: [] for name in metrics}
    unavailable: dict[str, str] = {}
    length = clip or len(reference)
    for n in range(len(reference)):
        for name, metric in metrics.items():
            items = slice(n, n + 1 + (name in OF_FRAMES))
            is_last_frame = name in OF_FRAMES and (n + 1) % length == 0
            if name in unavailable or (is_last_frame and length > 1):
                continue
            try:
                values[name] += metric(reference[items], test[items]).tolist()
            except (ImportError, ValueError) as error:
                unavailable[name] = str(error)
        ticked()
    figures = {n: Figures(tuple(v)) for n, v in values.items() if n not in unavailable}
    return Comparison(figures, unavailable)


def joined(parts: Sequence[Comparison]) -> Comparison:
    """All items of several comparisons; a metric that one of them lacks is left out."""
    unavailable = {name: why for part in parts for name, why in part.unavailable.items()}
    shared = [name for name in parts[0].figures if all(name in part.figures for part in parts)]
    values = {name: [part.figures[name].values for part in parts] for name in shared}
    return Comparison({n: Figures(tuple(chain(*v))) for n, v in values.items()}, unavailable)


def clip_psnr(frames: Sequence[float]) -> float:
    """PSNR in dB of a clip from that of its frames, by their mean square error."""
    error = sum(10 ** (-value / 10) for value in frames) / len(frames)
    return -10 * math.log10(error) if error else math.inf


def clips(frames: Figures, length: int) -> Figures:
    """PSNR in dB of each clip, from that of the frames of clips of one length."""
    values, firsts = frames.values, range(0, len(frames.values), length)
    return Figures(tuple(clip_psnr(values[first : first + length]) for first in firsts))


def comparable(reference: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Two batches as ``[B, H, W, 3]``, grey ones in colour; ``ValueError`` if they do not match."""
    pair = _in_form("reference", reference), _in_form("test", test)
    _check_equal(*pair)
    for name, images in zip(("reference", "test"), pair, strict=True):
        _check_finite(name, images)
    return pair


def alone(name: str, images: Tensor) -> Tensor:
    """A batch that is compared with none, checked and as ``[B, H, W, 3]`` as in ``comparable``."""
    images = _in_form(name, images)
    if not images.numel():
        raise ValueError(f"the {name} has no images; connect at least one")
    _check_finite(name, images)
    return images


def _in_form(name: str, images: Tensor) -> Tensor:
    fault = form_fault(name, images)
    if fault is not None:
        raise ValueError(fault)
    return in_color(images)


def _check_finite(name: str, images: Tensor) -> None:
    if not all(image.isfinite().all() for image in images):  # one by one: a video is large
        raise ValueError(
            f"the {name} has pixels that are no finite numbers, as too low a precision "
            "leaves them; mend the run that made it"
        )


def form_fault(name: str, images: Any) -> str | None:
    """What is wrong with the form of images; None for images in colour or grey."""
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
    """Images ``[B, H, W, 3]``; the channel of grey ones is repeated."""
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


def _check_equal(reference: Tensor, test: Tensor) -> None:
    if reference.shape != test.shape:
        raise ValueError(
            f"the reference is {_in_words(reference)}, the test is {_in_words(test)}; "
            "they can only be compared item by item at the same number and size"
        )
    if not reference.numel():
        raise ValueError("there are no images to compare; connect at least one to each input")


def _in_words(batch: Tensor) -> str:
    count, height, width, _ = batch.shape
    images = "1 image" if count == 1 else f"{count} images"
    return f"{images} of {width} x {height} pixels"


def in_json(value: float) -> float | str:
    """A value as JSON takes it."""
    return IDENTICAL if math.isinf(value) else value
