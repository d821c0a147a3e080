"""Comparison of one pair of batches for *Quality Compare*: figures, pictures and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from ...gph_core.quality.comparison import (
    Comparison,
    Figures,
    alone,
    clip_psnr,
    comparable,
    compare,
    in_json,
    joined,
)
from ...gph_core.quality.metric_table import CAPTIONS
from ...gph_core.quality.sizes import at_one_size
from ...gph_core.quality.verdict import verdict
from ...gph_core.reports import error_pictures
from ...gph_core.reports.tallies import tallied
from ..semantic import judges
from . import comparison_files
from .image_metrics import judged, metrics_for

Ticked = Callable[[], None]


class Shown(NamedTuple):
    """What is known of a pair, or of one batch alone, which was not measured."""

    report: dict[str, Any]
    pictures: dict[str, Any]  # file names
    measured: Comparison | None = None
    heat_map: Tensor | None = None
    strip: Tensor | None = None


def one_by_one(lists: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Inputs of each pair; the last value of a shorter list is repeated, as ComfyUI does."""
    count = max(map(len, lists.values()))
    return [
        {name: values[min(n, len(values) - 1)] for name, values in lists.items() if values}
        for n in range(count)
    ]


def show_alone(name: str, images: Tensor) -> Shown:
    """The batch of one input, where the other has none."""
    images = alone(name, images)
    missing = "test" if name == "reference" else "reference"
    return Shown(_facts(images) | {"missing": missing}, comparison_files.save({name: images}))


def show(
    reference: Tensor, test: Tensor, lpips: str, ticked: Ticked, video: bool = False,
    heat_map_max: float = 0.0, fps: float = 16.0, semantic: judges.SemanticMetrics | None = None,
) -> Shown:  # fmt: skip
    """Compare a pair; ``ticked`` is called after each image."""
    given = {"reference": reference, "test": test}
    if len(reference) == len(test):  # else refused, with the sizes that the user knows
        reference, test = at_one_size(reference, test)
    reference, test = comparable(reference, test)
    measured, network = measure(reference, test, lpips, video, ticked)
    (measured,) = judged([measured], [reference, test], semantic)
    errors = error_pictures.error(reference, test)
    scale = heat_map_max or errors.max().item() or 1.0  # without any error: all black
    heat_map = error_pictures.heat_map(errors, scale)
    report = _facts(reference) | {
        "lpips_network": network,
        "verdicts": verdicts(measured),
        **_figures(measured, video),
        "heat_map": {
            "shows": "mean absolute difference of the channels",
            "colormap": error_pictures.COLORMAP,
            "from": 0,
            "to": scale,
        },
    }
    size = reference.shape[1:3]
    scaled = {n: [*batch.shape[2:0:-1]] for n, batch in given.items() if batch.shape[1:3] != size}
    if scaled:
        report["scaled"] = scaled  # width and height before
    if video:
        report["clip"] = {"fps": fps, "psnr": in_json(_of_clip(measured))}
    captions = captions_of(measured, len(reference), scale, scaled)
    strip = error_pictures.strip([reference, test, heat_map], captions, scale)
    pictures = comparison_files.save({"reference": reference, "test": test}, errors, scale)
    return Shown(report, pictures, measured, heat_map, strip)


def of_all(parts: Sequence[Shown], videos: bool) -> tuple[Comparison, dict[str, Any]]:
    """Figures of all pairs together, and their report."""
    measured = [part.measured for part in parts if part.measured is not None]
    whole = joined(measured)
    report = {"images": sum(part.report["images"] for part in parts), **_figures(whole, videos)}
    if videos:
        clips = Figures(tuple(map(_of_clip, measured)))
        report["clips"] = {"psnr": tallied(clips.to_dict())}
    return whole, report


def _facts(images: Tensor) -> dict[str, Any]:
    count, height, width, _ = images.shape
    return {"images": count, "width": width, "height": height}


def _figures(measured: Comparison, video: bool) -> dict[str, Any]:
    """All figures; a tally is of images, as nobody looks at the frames of a video one by one."""
    found = measured.to_dict()
    if not video:
        found["metrics"]["psnr"] = tallied(found["metrics"]["psnr"])
    return found


def _of_clip(measured: Comparison) -> float:
    return clip_psnr(measured.figures["psnr"].values)


def verdicts(measured: Comparison) -> list[str]:
    """Verdicts on each image, in words."""
    psnr, ssim = (measured.figures.get(name) for name in ("psnr", "ssim"))
    assert psnr is not None  # it can always be measured
    return [verdict(value, ssim.values[n] if ssim else None) for n, value in enumerate(psnr.values)]


def measure(
    reference: Tensor, test: Tensor, choice: str, video: bool, ticked: Ticked
) -> tuple[Comparison, str | None]:
    """Figures of two ``[B, H, W, 3]`` batches, and the name of LPIPS's network."""
    chosen, backbone = metrics_for(choice, video)
    planes = reference.movedim(-1, 1), test.movedim(-1, 1)
    return compare(*planes, chosen, ticked), backbone


def captions_of(
    measured: Comparison, count: int, scale: float, scaled: Mapping[str, Any]
) -> list[list[str]]:
    """Captions below each item's panels."""
    first, second = (f"{n}, scaled" if n in scaled else n for n in ("reference", "test"))
    last = f"error 0 – {scale:.3g}"
    return [
        [first, error_pictures.SEPARATOR.join([second, *_caption(measured, n)]), last]
        for n in range(count)
    ]


def _caption(measured: Comparison, item: int) -> Iterator[str]:
    for name, form in CAPTIONS.items():
        if name in measured.figures:
            value = measured.figures[name].values[item]
            yield "identical" if value == float("inf") else form.format(value)
