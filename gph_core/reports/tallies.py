"""Worst tenth and share hardly visible of several PSNRs, which reports show beside their mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..quality.comparison import IDENTICAL
from ..quality.metric_table import METRICS
from ..quality.shootout import in_json, number
from ..quality.verdict import HARDLY_VISIBLE, Tally

_Figures = Mapping[str, Any]  # of one metric, in JSON types


def tallied(psnr: _Figures) -> dict[str, Any]:
    """Figures of PSNR with the tally of their values; a single value has none."""
    values = [number(value) for value in psnr["values"]]
    if len(values) == 1:
        return dict(psnr)
    tally = Tally.of(values)
    worst = math.nan if tally.worst == -math.inf else tally.worst  # NaN, in a tally
    return {**psnr, "worst_tenth": in_json(worst), "hardly_visible": tally.hardly}


def columns(metrics: Sequence[Mapping[str, _Figures]]) -> list[tuple[str, list[str]]]:
    """Headings and cells of a table with the metrics of each row; none without a tally."""
    figures = [of_row.get("psnr", {}) for of_row in metrics]
    if not any(map(is_tallied, figures)):
        return []
    return [
        ("worst tenth", [worst(psnr) if is_tallied(psnr) else "" for psnr in figures]),
        ("hardly visible", [hardly(psnr) if is_tallied(psnr) else "" for psnr in figures]),
    ]


def is_tallied(psnr: _Figures) -> bool:
    return "worst_tenth" in psnr


def worst(psnr: _Figures, write: Callable[[float], str] = METRICS["psnr"].form.format) -> str:
    """Best PSNR of the worst tenth, as ``write`` writes a number."""
    value = psnr["worst_tenth"]
    if value is None:
        return "not a number"
    return IDENTICAL if value == IDENTICAL else write(value)


def hardly(psnr: _Figures) -> str:
    """Share whose difference is hardly visible or not at all; halves go up, as on the page."""
    return f"{math.floor(100 * psnr['hardly_visible'] + 0.5)} %"


def legend(items: str) -> str:
    """What the columns mean, for a table of ``items`` such as images."""
    return (
        f"worst tenth: a tenth of the {items} have this PSNR or less (of up to ten {items}, the "
        f"lowest); hardly visible: share of {items} of at least {HARDLY_VISIBLE:g} dB, whose "
        "difference is hardly visible or not visible at all"
    )
