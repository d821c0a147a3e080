"""Figure of *Method Shootout*: the most frequent schedules of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ...quality.metric_table import COMPARED, OF_FRAMES
from ...schedule import Schedule
from .. import figures, tallies
from .report import MOST_SCHEDULES
from .table import mean_of, title_of


def figure(report: Mapping[str, Any]) -> Tensor:
    """The most frequent schedules of each row with their shares, ``[1, H, W, 3]``.

    Source: GPH paper, its Figure 1(a).
    """
    from matplotlib.figure import Figure

    rows, total, shown = report["rows"], report["steps"], shown_metrics(report)
    count = sum(len(row["schedules"]) for row in rows)
    gap = 0.6  # between rows, in strips: two lines of text fit beside one strip
    height = count + gap * len(rows)
    sheet = Figure(figsize=(11, 0.9 + 0.26 * height), dpi=110, layout="constrained")
    axes = sheet.add_subplot()
    places, labels, y = [], [], 0.0
    for row in rows:
        places.append(y + (len(row["schedules"]) - 1) / 2)
        labels.append(label_of(row, shown))
        for entry in row["schedules"]:
            figures.strip(axes, y, Schedule.parse(entry["schedule"]), total / row["steps"])
            share = f"{100 * entry['share']:.0f} %"
            axes.annotate(share, (total, y), (4, 0), textcoords="offset points", va="center")
            y += 1
        y += gap
    axes.set_yticks(places, labels)
    axes.tick_params(axis="y", length=0)
    figures.number_steps(axes, total)
    axes.margins(y=0.02)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    headings = " · ".join(COMPARED[name].heading for name in shown)
    measured = f"; left: mean {headings}, 95 % interval" if shown else ""
    cut = any(row["different_schedules"] > MOST_SCHEDULES for row in rows)
    most = f" of the {MOST_SCHEDULES} most frequent schedules" if cut else ""
    axes.set_xlabel(
        f"step (dark: full){measured}; right: share{most} of the runs on {report['examples']} "
        "examples"
    )
    return figures.to_image(sheet)


def shown_metrics(report: Mapping[str, Any]) -> list[str]:
    """Metrics beside the strips: the one that orders the rows, and those of videos."""
    main = report["metric"]
    measured = {name for row in report["rows"] for name in row["metrics"]}
    return [name for name in COMPARED if name == main or name in OF_FRAMES & measured]


def label_of(row: Mapping[str, Any], shown: Sequence[str]) -> str:
    """Name of a row, and a line with the means of some metrics and the share hardly visible."""
    texts = [mean_of(row, name) for name in shown]
    psnr = row["metrics"].get("psnr", {})
    if "psnr" in shown and tallies.is_tallied(psnr):
        texts.append(f"{tallies.hardly(psnr)} hardly visible")
    return f"{figures.literal(title_of(row))}\n{' · '.join(filter(None, texts))}".rstrip()
