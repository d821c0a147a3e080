"""Report of *Schedule Statistics*: its numbers in JSON types, a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from ..analysis.frequency import Frequencies
from ..analysis.interaction import interaction
from ..quality.metric_table import BY_TITLE
from ..quality.reports import QualityTable, crossing, distinct
from ..run.record_file import RecordedRun
from ..schedule import Schedule
from ..texts import aligned, counted
from . import figures, runs_report

FORMAT = "golden-path-schedule-statistics-1"
MOST_SCHEDULES = 3  # of a recording that are drawn as strips
_CURVE = 10  # most frequent schedules whose shares are added up
TOP = (1, 3, 10)  # r, for the share of the r most frequent schedules, as in the GPH paper


def report_of(
    recordings: Sequence[Sequence[RecordedRun]], tables: Sequence[QualityTable], metric: str
) -> dict[str, Any]:
    """Frequencies of each recording, and an interaction for each number of full steps.

    Raises:
        ValueError: there is no recording, one has no complete run, or the shootouts have no
            schedules under the same policies.
    """
    if not recordings:
        raise ValueError("there are no runs; connect runs of Record Runs, one input per method")
    names = distinct([_name(runs) for runs in recordings])
    crossed = [entry for table in tables if (entry := _interaction(table)) is not None]
    if tables and not crossed:
        raise ValueError(
            "an interaction needs two or more schedules under the same two or more policies; run "
            "Method Shootout with the same schedules for each policy, or disconnect the shootouts"
        )
    return {
        "format": FORMAT,
        "metric": metric if tables else None,
        "recordings": [
            _recording(name, runs) for name, runs in zip(names, recordings, strict=True)
        ],
        "interactions": crossed,
    }


def _name(runs: Sequence[RecordedRun]) -> str:
    first = runs[0].record
    return first.origin if first.gate else f"fixed schedule, {first.policy}"


def _recording(name: str, runs: Sequence[RecordedRun]) -> dict[str, Any]:
    schedules = runs_report.complete(runs)
    if not schedules:
        raise ValueError(f"all runs of {name} stopped early; record complete runs")
    frequencies = Frequencies.of(schedules)
    return {
        "name": name,
        "policy": runs[0].record.policy,
        "steps": schedules[0].num_steps,
        "runs": frequencies.runs,
        "cut_short": len(runs) - frequencies.runs,
        "prompts": len({run.prompt or run.example for run in runs}),
        "seeds": len({run.seed for run in runs}),
        "different": len(frequencies.counts),
        "effective": frequencies.effective,
        "top": {str(r): frequencies.top(r) for r in TOP},
        "cached": {"mean": frequencies.mean_cached, "runs": frequencies.cached_counts},
        "schedules": [
            {"schedule": str(schedule), "runs": count, "share": count / frequencies.runs}
            for schedule, count in frequencies.counts.items()
        ],
    }


def _interaction(table: QualityTable) -> dict[str, Any] | None:
    crossed = crossing(table)
    if crossed is None:
        return None
    schedules, policies, means = crossed
    fit = interaction(means)
    return {
        "full_steps": table.num_full,
        "prompts": len(table.prompts),
        "schedules": [str(schedule) for schedule in schedules],
        "policies": policies,
        "means": means.tolist(),
        "mean": fit.mean,
        "schedule_effects": fit.schedules.tolist(),
        "policy_effects": fit.policies.tolist(),
        "residuals": fit.residuals.tolist(),
        "shares": fit.shares._asdict(),
    }


def table(report: Mapping[str, Any]) -> str:
    """The numbers as lines of text."""
    cells = [["", "runs", "different", "effective", *(f"top {r}" for r in TOP), "cached"]]
    cells += [
        [
            row["name"], str(row["runs"]), str(row["different"]), f"{row['effective']:.2f}",
            *(f"{share:.1%}" for share in row["top"].values()),
            f"{row['cached']['mean']:.2f} of {row['steps']}",
        ]
        for row in report["recordings"]
    ]  # fmt: skip
    lines = ["schedules of the recorded runs", *aligned(cells)]
    lines.append(
        "effective: number of equally frequent schedules with the same entropy; top n: share of "
        "the runs with one of the n most frequent schedules"
    )
    for row in report["recordings"]:
        most = row["schedules"][0]
        lines.append(f"{row['name']}: {most['schedule']} in {most['share']:.1%} of its runs")
        if row["cut_short"]:
            lines.append(
                f"{row['name']}: {counted(row['cut_short'], 'run')} stopped early, left out"
            )
    for fit in report["interactions"]:
        lines += ["", *_interaction_lines(fit, report["metric"])]
    return "\n".join(line.rstrip() for line in lines)


def _interaction_lines(fit: Mapping[str, Any], metric: str) -> list[str]:
    # Higher is better, so LPIPS is negative.
    shares = ", ".join(f"{name} {share:.1%}" for name, share in fit["shares"].items())
    rows = zip(fit["schedules"], fit["means"], strict=True)
    cells = [[metric, *fit["policies"]]]
    cells += [[schedule, *(f"{mean:.4g}" for mean in means)] for schedule, means in rows]
    return [
        f"{fit['full_steps']} full steps, means of {counted(fit['prompts'], 'prompt')}, higher "
        "is better",
        *aligned(cells),
        f"shares of the variance of these means: {shares}",
    ]


def figure(report: Mapping[str, Any]) -> Tensor:
    """Most frequent schedules, their cumulative shares, and policies by schedule, ``[1, H, W, 3]``.

    Source: GPH paper, its figures of schedule frequencies and of the interaction.
    """
    from matplotlib.figure import Figure

    strips = sum(len(row["schedules"][:MOST_SCHEDULES]) + 0.6 for row in report["recordings"])
    heights = [0.8 + 0.34 * strips, 3.6, *(3.6 for _ in report["interactions"])]
    sheet = Figure(figsize=(10, sum(heights)), dpi=110, layout="constrained")
    top, middle, *rest = sheet.subplots(len(heights), 1, height_ratios=heights)
    _strips(top, report["recordings"])
    _concentration(middle, report["recordings"])
    for axes, fit in zip(rest, report["interactions"], strict=True):
        _draw_interaction(axes, fit, report["metric"])
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


def _draw_interaction(axes, fit, metric) -> None:
    places = range(len(fit["policies"]))
    for number, schedule in enumerate(fit["schedules"]):
        axes.plot(
            places, fit["means"][number], **figures.mark(number), markersize=7, label=schedule
        )
    axes.set_xticks(places, fit["policies"], fontsize=12)
    axes.tick_params(axis="y", labelsize=12)
    unit = BY_TITLE[metric].unit or ", higher is better"
    axes.set_ylabel(f"mean {metric}{unit}", fontsize=12)
    shares = ", ".join(f"{name} {share:.0%}" for name, share in fit["shares"].items())
    axes.set_title(f"{fit['full_steps']} full steps; shares of the variance: {shares}", fontsize=12)
    axes.legend(fontsize=11)
