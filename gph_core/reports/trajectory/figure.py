"""Figure of *Trajectory Profile*."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from .. import figures
from .report import RANDOM

# Distinct for the colour-blind, and in brightness.
_BLUE, _RED, _GREEN, _GREY = "#0072b2", "#d55e00", "#009e73", "#777777"
_STYLES = (
    (_BLUE, "-"),
    (_RED, "--"),
    (_GREEN, ":"),
)  # of three runs, as in the source
_SIZE = 13  # of letters, legible on a node
_PROFILES = {
    "off_chord": ("off-chord distance / chord", "state"),
    "displacement": ("displacement / chord", "step"),
    "norm": ("state norm", "state"),
}


def drawn(report: Mapping[str, Any]) -> Tensor:
    """Figure as an IMAGE, ``[1, H, W, 3]``; see ``draw``."""
    from matplotlib.figure import Figure

    sheet = Figure(dpi=100, layout="constrained")
    draw(report, sheet)
    return figures.to_image(sheet)


def draw(report: Mapping[str, Any], sheet) -> None:
    """Draw profiles over runs with their variation, turning angles, curves and plane angles.

    Args:
        report: from ``report.report_of``.
        sheet: a figure of matplotlib, which gets the size that this takes.

    Source: GPH paper, its figures of trajectories.
    """
    from matplotlib.ticker import MaxNLocator

    sheet.set_size_inches(14, 10.5)
    axes = sheet.subplots(3, 3, height_ratios=(3, 1.5, 3))
    for column, (name, (title, index)) in enumerate(_PROFILES.items()):
        spread = report["summary"][name]
        _profile(axes[0, column], spread, 0)
        axes[0, column].set_title(title, fontsize=_SIZE)
        _variation(axes[1, column], spread["cv"], len(report["runs"]))
        axes[1, column].set_xlabel(index, fontsize=_SIZE)
    _turning(axes[2, 0], report)
    _curves(axes[2, 1], report)
    _angles(axes[2, 2], report["plane_angles"])
    for panel in (*axes[:2].flat, axes[2, 0]):  # over states and steps
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    for panel in axes.flat:
        panel.tick_params(labelsize=_SIZE - 1)
        panel.spines[["top", "right"]].set_visible(False)


def _profile(axes, spread: Mapping[str, Any], start: int, label: str = "") -> None:
    """Draw the median over runs, and the middle half as a band."""
    median, low, high = (_numbers(spread[name]) for name in ("median", "low", "high"))
    places = np.arange(start, start + len(median))
    axes.fill_between(places, low, high, color=_BLUE, alpha=0.25, linewidth=0)
    axes.plot(places, median, color=_BLUE, marker="o", markersize=3, label=label)


def _variation(axes, cv: Sequence[float | None], num_runs: int) -> None:
    if num_runs == 1:
        _say(axes, "needs several runs")
        return
    axes.plot(_numbers(cv), color=_BLUE, marker="o", markersize=3)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("CV over runs, %", fontsize=_SIZE)


def _turning(axes, report: Mapping[str, Any]) -> None:
    """Draw the measured turning angles, and those of rounding alone."""
    summary, window = report["summary"], report["window"]
    _profile(axes, summary["turning"], window, "measured")
    floor = _numbers(summary["floor"]["median"])
    axes.plot(
        np.arange(window, window + len(floor)), floor, color=_RED, linestyle="--",
        label=f"by {report['precision']} rounding alone",
    )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_title(f"turning angle over {window} steps, degrees", fontsize=_SIZE)
    axes.set_xlabel("state", fontsize=_SIZE)
    axes.legend(fontsize=_SIZE - 2, frameon=False)


def _curves(axes, report: Mapping[str, Any]) -> None:
    """Draw off-chord curves of some runs, each in its own plane; the circle is both ends."""
    runs = report["runs"]
    some = runs[:: math.ceil(len(runs) / len(_STYLES))]  # spread out, so that prompts differ
    for run, (color, style) in zip(some, _STYLES, strict=False):
        first, second = np.array(run["curve"]).T
        label = figures.literal(f"{run['prompt'][:18]} · {run['seed']}".strip(" ·"))
        axes.plot(first, second, style, color=color, marker="o", markersize=3, label=label)
    axes.plot(0, 0, "o", color="white", markeredgecolor="black", markersize=8)
    shares = [report["summary"][name]["median"][0] for name in ("pc1", "pc1_pc2")]
    text = "" if shares[0] is None else f": PC1 {shares[0]:.0%}, with PC2 {shares[1]:.0%}"
    axes.set_title(f"off-chord variance{text}", fontsize=_SIZE)
    axes.set_xlabel("PC1, off-chord / chord", fontsize=_SIZE)
    axes.set_ylabel("PC2", fontsize=_SIZE)
    axes.legend(fontsize=_SIZE - 3)


def _angles(axes, groups: Mapping[str, Any]) -> None:
    """Draw medians, quartiles and extremes of each group of pairs."""
    axes.set_title("first angle between planes, degrees", fontsize=_SIZE)
    if not groups:
        _say(axes, "needs two runs with a plane")
        return
    for row, (name, pairs) in enumerate(groups.items()):
        color = _GREY if name == RANDOM else _BLUE
        axes.hlines(row, pairs["min"], pairs["max"], color=color, linewidth=1.5)
        axes.hlines(row, pairs["low"], pairs["high"], color=color, linewidth=9, alpha=0.5)
        axes.plot(pairs["median"], row, "D", color=color, markersize=8)
    axes.axvline(90, color="black", linestyle=":", linewidth=1)
    labels = [f"{figures.literal(name)}\n({pairs['pairs']})" for name, pairs in groups.items()]
    axes.set_yticks(range(len(groups)), labels, fontsize=_SIZE - 1)
    axes.set_ylim(len(groups) - 0.5, -0.5)


def _say(axes, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", fontsize=_SIZE, transform=axes.transAxes)
    axes.set_xticks([])
    axes.set_yticks([])


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    """Numbers with NaN for None."""
    return np.array(values, dtype=np.float64)
