"""The figure of *Schedule Statistics*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from ..quality.metric_table import BY_TITLE
from ..schedule import Schedule
from . import figures

MOST_SCHEDULES = 3  # of a recording that are drawn, as strips
_CURVE = 10  # most frequent schedules whose shares are added up


def figure(report: Mapping[str, Any]) -> Tensor:
    """Most frequent schedules, how their shares add up, and policies by schedule, ``[1, H, W, 3]``.

    Source: seed paper, its figures of schedule frequencies and of the interaction.
    """
    from matplotlib.figure import Figure

    strips = sum(len(row["schedules"][:MOST_SCHEDULES]) + 0.6 for row in report["recordings"])
    heights = [0.8 + 0.34 * strips, 3.6, *(3.6 for _ in report["interactions"])]
    sheet = Figure(figsize=(10, sum(heights)), dpi=110, layout="constrained")
    top, middle, *rest = sheet.subplots(len(heights), 1, height_ratios=heights)
    _strips(top, report["recordings"])
    _concentration(middle, report["recordings"])
    for axes, found in zip(rest, report["interactions"], strict=True):
        _interaction(axes, found, report["metric"])
    return figures.to_image(sheet)


def _strips(axes, recordings) -> None:
    places, labels, y = [], [], 0.0
    for row in recordings:
        drawn = row["schedules"][:MOST_SCHEDULES]
        places.append(y + (len(drawn) - 1) / 2)
        labels.append(figures.literal(row["name"]))
        for entry in drawn:
            figures.strip(axes, y, Schedule.parse(entry["schedule"]))
            axes.annotate(
                f"{entry['share']:.0%}", (row["steps"], y), (4, 0), textcoords="offset points",
                va="center", fontsize=12,
            )  # fmt: skip
            y += 1
        y += 0.6
    axes.set_yticks(places, labels, fontsize=12)
    axes.tick_params(axis="y", length=0)
    figures.number_steps(axes, max(row["steps"] for row in recordings))
    axes.margins(y=0.02)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.set_xlabel("step (dark: full); right: share of the runs", fontsize=12)


def _concentration(axes, recordings) -> None:
    for number, row in enumerate(recordings):
        shares = np.cumsum([entry["share"] for entry in row["schedules"][:_CURVE]])
        name = figures.literal(row["name"])
        label = f"{name}: effective {row['effective']:.2f} of {row['different']}"
        places = np.arange(1, len(shares) + 1)
        axes.plot(places, shares, **figures.mark(number), markersize=7, label=label)
    axes.set_ylim(0, 1.04)
    axes.set_xticks(range(1, _CURVE + 1))
    axes.tick_params(labelsize=12)
    axes.set_xlabel("most frequent schedules, r", fontsize=12)
    axes.set_ylabel("share of the runs, top r", fontsize=12)
    axes.legend(fontsize=11, loc="lower right")


def _interaction(axes, found, metric) -> None:
    places = range(len(found["policies"]))
    for number, schedule in enumerate(found["schedules"]):
        axes.plot(
            places, found["means"][number], **figures.mark(number), markersize=7, label=schedule
        )
    axes.set_xticks(places, found["policies"], fontsize=12)
    axes.tick_params(axis="y", labelsize=12)
    unit = BY_TITLE[metric].unit or ", higher is better"
    axes.set_ylabel(f"mean {metric}{unit}", fontsize=12)
    shares = ", ".join(f"{name} {share:.0%}" for name, share in found["shares"].items())
    axes.set_title(
        f"{found['full_steps']} full steps; shares of the variance: {shares}", fontsize=12
    )
    axes.legend(fontsize=11)
