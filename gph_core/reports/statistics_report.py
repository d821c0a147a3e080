"""Report of *Schedule Statistics*: figures as JSON takes them, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.frequency import Frequencies
from ..analysis.interaction import interaction
from ..quality.reports import QualityTable, crossing, distinct
from ..run.record_file import RecordedRun
from ..texts import aligned, counted
from . import runs_report

FORMAT = "golden-path-schedule-statistics-1"
TOP = (1, 3, 10)  # of which most frequent schedules the share is told, as in the seed paper


def report_of(
    recordings: Sequence[Sequence[RecordedRun]], tables: Sequence[QualityTable], metric: str
) -> dict[str, Any]:
    """Frequencies of each recording, and an interaction for each number of full steps.

    Raises:
        ValueError: there is no recording, one has no complete run, or shootouts have no schedules
            under the same policies.
    """
    if not recordings:
        raise ValueError("there are no runs; connect runs of Record Runs, one input per method")
    names = distinct([_name(runs) for runs in recordings])
    crossed = [found for table in tables if (found := _interaction(table)) is not None]
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
    found = Frequencies.of(schedules)
    return {
        "name": name,
        "policy": runs[0].record.policy,
        "steps": schedules[0].num_steps,
        "runs": found.runs,
        "cut_short": len(runs) - found.runs,
        "prompts": len({run.prompt or run.example for run in runs}),
        "seeds": len({run.seed for run in runs}),
        "different": len(found.counts),
        "effective": found.effective,
        "top": {str(r): found.top(r) for r in TOP},
        "cached": {"mean": found.mean_cached, "runs": found.cached_counts},
        "schedules": [
            {"schedule": str(schedule), "runs": count, "share": count / found.runs}
            for schedule, count in found.counts.items()
        ],
    }


def _interaction(table: QualityTable) -> dict[str, Any] | None:
    crossed = crossing(table)
    if crossed is None:
        return None
    schedules, policies, means = crossed
    found = interaction(means)
    return {
        "full_steps": table.num_full,
        "prompts": len(table.prompts),
        "schedules": [str(schedule) for schedule in schedules],
        "policies": policies,
        "means": means.tolist(),
        "mean": found.mean,
        "schedule_effects": found.schedules.tolist(),
        "policy_effects": found.policies.tolist(),
        "residuals": found.residuals.tolist(),
        "shares": found.shares._asdict(),
    }


def table(report: Mapping[str, Any]) -> str:
    """The figures as lines of text."""
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
    for found in report["interactions"]:
        lines += ["", *_interaction_lines(found, report["metric"])]
    return "\n".join(line.rstrip() for line in lines)


def _interaction_lines(found: Mapping[str, Any], metric: str) -> list[str]:
    # Those of PSNR are in dB; what is better is higher, so LPIPS is negative.
    shares = ", ".join(f"{name} {share:.1%}" for name, share in found["shares"].items())
    rows = zip(found["schedules"], found["means"], strict=True)
    cells = [[metric, *found["policies"]]]
    cells += [[schedule, *(f"{mean:.4g}" for mean in means)] for schedule, means in rows]
    return [
        f"{found['full_steps']} full steps, means of {counted(found['prompts'], 'prompt')}, higher "
        "is better",
        *aligned(cells),
        f"shares of the variance of these means: {shares}",
    ]
