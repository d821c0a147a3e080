"""Report of *Coverage*: numbers in JSON types, a table, a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from ..quality.coverage import coverage, regrets
from ..quality.metric_table import BY_TITLE
from ..quality.reports import ADAPTIVE, FIXED, PLAIN, QualityTable
from ..texts import aligned, counted
from . import figures

FORMAT = "golden-path-coverage-1"
_KINDS = {FIXED: "", ADAPTIVE: " (adaptive)", PLAIN: " (no cache)"}  # and endings of their labels


def report_of(
    tables: Sequence[QualityTable], metric: str, margins: Sequence[float]
) -> dict[str, Any]:
    """Candidates of each number of full steps, by falling coverage at the tightest margin.

    Bounds are corrected for the number of candidates of the same kind.
    """
    return {
        "format": FORMAT,
        "metric": metric,
        "margins": list(margins),
        "tables": [_table(table, margins) for table in tables],
    }


def _table(table: QualityTable, margins: Sequence[float]) -> dict[str, Any]:
    fixed = table.rows(FIXED)
    if len(fixed) < 2:
        raise ValueError(
            "coverage needs two or more fixed schedules with the same number of full steps; with "
            f"{table.num_full} full steps there is {len(fixed)}: add methods such as TaylorSeer "
            "or uniform, or your own schedules, to Method Shootout"
        )
    below = regrets(table.quality, table.quality[fixed])
    rows = []
    for kind in _KINDS:
        members = table.rows(kind)
        of_kind = [_row(table, row, below[row], margins, len(members)) for row in members]
        rows += sorted(of_kind, key=lambda row: -row["coverage"][0]["share"])
    return {
        "full_steps": table.num_full,
        "prompts": len(table.prompts),
        "candidates": len(fixed),
        "examples_left_out": table.num_incomplete,
        "not_comparable": list(table.other_counts),
        "rows": rows,
    }


def _row(
    table: QualityTable, row: int, below: np.ndarray, margins: Sequence[float], num_chosen_from: int
) -> dict[str, Any]:
    candidate = table.candidates[row]
    return {
        "name": candidate.label,
        "kind": candidate.kind,
        "policy": candidate.policy,
        "schedule": None if candidate.kind == ADAPTIVE else str(candidate.schedule),
        "chosen_from": num_chosen_from,
        "coverage": [share._asdict() for share in coverage(below, margins, num_chosen_from)],
        "gaps": below.tolist(),
    }


def table(report: Mapping[str, Any]) -> str:
    """The numbers as lines of text."""
    margins, unit = report["margins"], BY_TITLE[report["metric"]].unit
    parts = []
    for part in report["tables"]:
        cells = [["", *(f"{margin:.3g}{unit}" for margin in margins)]]
        cells += [
            [_label(row), *(f"{c['share']:.3f} [{c['corrected']:.3f}]" for c in row["coverage"])]
            for row in part["rows"]
        ]
        best = part["rows"][0]
        lines = [
            f"{part['full_steps']} full steps, {counted(part['prompts'], 'prompt')}: share of "
            f"prompts within a margin of the best of {part['candidates']} schedules, by "
            f"{report['metric']}",
            *aligned(cells),
            f"best shared schedule: {best['name']}: {best['schedule']}",
        ]
        if part["examples_left_out"]:
            left = counted(part["examples_left_out"], "example")
            lines.append(f"{left} left out: some rows lack them")
        if part["not_comparable"]:
            names = ", ".join(part["not_comparable"])
            lines.append(f"left out because of other numbers of full steps: {names}")
        parts.append("\n".join(line.rstrip() for line in lines))
    parts.append(
        "[ ]: lower bound for all prompts of this kind with 95 % confidence, corrected for "
        "choosing the best of several schedules or methods"
    )
    return "\n\n".join(parts)


def figure(report: Mapping[str, Any]) -> Tensor:
    """Shares of all candidates, with lines to their corrected bounds, ``[1, H, W, 3]``."""
    from matplotlib.figure import Figure

    unit = BY_TITLE[report["metric"]].unit
    tables, margins = report["tables"], report["margins"]
    counts = [len(part["rows"]) for part in tables]
    sheet = Figure(figsize=(10, 1.3 + sum(0.8 + 0.5 * n for n in counts)), dpi=110)
    sheet.set_layout_engine("constrained")
    panels = sheet.subplots(len(tables), 1, squeeze=False, height_ratios=counts)[:, 0]
    for axes, part in zip(panels, tables, strict=True):
        rows = part["rows"]
        for number in range(len(margins)):
            cells = [row["coverage"][number] for row in rows]
            shares = np.array([c["share"] for c in cells])
            reach = shares - [c["corrected"] for c in cells]
            places = np.arange(len(rows)) + 0.2 * (number - (len(margins) - 1) / 2)
            axes.errorbar(
                shares, places, xerr=(reach, 0 * reach), markersize=8, **figures.mark(number),
                linestyle="none",
                label=f"within {margins[number]:.3g}{unit}",
            )  # fmt: skip
        axes.axvline(0.5, color=figures.EDGE, linewidth=1, linestyle="--")
        labels = [figures.literal(_label(row)) for row in rows]
        axes.set_yticks(range(len(rows)), labels, fontsize=12)
        axes.set_xlim(-0.02, 1.02)
        axes.tick_params(axis="x", labelsize=12)
        axes.invert_yaxis()
        axes.set_title(
            f"{part['full_steps']} full steps, {counted(part['prompts'], 'prompt')}", fontsize=13
        )
    sheet.supxlabel(
        f"share of prompts close to the best in {report['metric']}; lines: 95 % lower bound",
        fontsize=13,
    )
    sheet.legend(
        *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=12
    )
    return figures.to_image(sheet)


def _label(row: Mapping[str, Any]) -> str:
    return row["name"] + _KINDS[row["kind"]]
