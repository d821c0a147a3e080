"""Numbers of *Method Shootout*, in JSON types."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ...analysis.frequency import Frequencies
from ...experiments.candidates import Candidate
from ...experiments.shootout import Standing
from ...methods.candidates import FULL, UNIFORM
from ...quality import reports
from ...quality.comparison import IDENTICAL
from ...quality.metric_table import COMPARED, JUDGED, METRICS
from ...quality.shootout import CandidateRun, ahead, figures
from ..tallies import tallied

MOST_SCHEDULES = 5  # of a candidate, as in the GPH paper's figure
OTHER_COUNT = 0.5  # as far from the wanted number of full steps, a mean is another number


def report_of(
    standing: Standing, num_full: int, absent: Mapping[str, str], unavailable: Mapping[str, str],
    network: str | None,
) -> dict[str, Any]:  # fmt: skip
    """The full run, then comparable candidates, best first by the first metric, then others.

    Args:
        num_full: wanted number of full steps.
        absent: why candidates could not take part.
        unavailable: why metrics were not measured.
        network: of LPIPS, if there is one.
    """
    results = standing.found
    compared = [r for name, results in results.items() if name != FULL for r in results]
    # Other sessions may have lacked a package.
    shared = [m for m in (*COMPARED, *JUDGED) if all(m in result.metrics for result in compared)]
    rows = [
        _row(c, results[c.name], num_full, () if c.name == FULL else shared)
        for c in standing.candidates
    ]
    main = next(iter(shared), None)
    if any(row["name"] == UNIFORM and row["comparable"] for row in rows):
        for row in rows:
            if row["name"] not in (FULL, UNIFORM) and row["comparable"]:
                row["ahead"] = _ahead(results[row["name"]], results[UNIFORM], shared)
    return {
        "format": reports.FORMAT,
        "conditions": standing.conditions,
        "steps": standing.num_steps,
        "full_steps": num_full,
        "examples": len(standing.prompts),
        "prompts": list(standing.prompts),  # in the order of all values
        "metric": main,
        "lpips_network": network,
        "rows": sorted(rows, key=lambda row: _rank(row, main)),
        "absent": dict(absent),
        "unavailable": {m: why for m, why in unavailable.items() if m not in shared},
    }


def _row(
    candidate: Candidate,
    results: Sequence[CandidateRun],
    num_full: int,
    metrics: Sequence[str],
) -> dict[str, Any]:
    schedules = Frequencies.of(
        candidate.schedule if result.record is None else result.record.realized
        for result in results
    )
    counts = list(schedules.cached_counts.items())
    every = [count for count, runs in counts for _ in range(runs)]
    full = candidate.schedule.num_steps - schedules.mean_cached
    return {
        "name": candidate.name,
        "kind": _kind(candidate),
        "plan": candidate.plan,
        "origin": candidate.origin,
        "policy": candidate.choice and str(candidate.choice.policy),
        "steps": candidate.schedule.num_steps,
        "runs": len(results),
        "cached": {"mean": schedules.mean_cached, "spread": statistics.pstdev(every)},
        "full": full,
        "comparable": candidate.name == FULL or abs(full - num_full) < OTHER_COUNT,
        "seconds": statistics.median(result.seconds for result in results),
        "speedup": statistics.median(result.speedup for result in results),
        "schedules": [
            {"schedule": str(schedule), "share": count / schedules.runs}
            for schedule, count in list(schedules.counts.items())[:MOST_SCHEDULES]
        ],
        "different_schedules": len(schedules.counts),
        "metrics": {name: _figures(results, name) for name in metrics},
        "ahead": {},
        "notes": list(dict.fromkeys(n for r in results if r.record for n in r.record.notes)),
    }


def _figures(results: Sequence[CandidateRun], name: str) -> dict[str, Any]:
    found = figures(_values(results, name))
    return tallied(found) if name == "psnr" else found


def _kind(candidate: Candidate) -> str:
    """Kind of a candidate; a method that decides before the run is fixed."""
    if candidate.choice is None:
        return reports.FULL if candidate.name == FULL else reports.PLAIN
    return reports.ADAPTIVE if candidate.choice.gate else reports.FIXED


def _ahead(
    results: Sequence[CandidateRun], baseline: Sequence[CandidateRun], metrics: Sequence[str]
) -> dict[str, Any]:
    """Lead of the results in each metric, example by example."""
    return {
        name: ahead(
            *([METRICS[name].better * v for v in _values(r, name)] for r in (results, baseline))
        )
        for name in metrics
    }


def _values(results: Sequence[CandidateRun], name: str) -> list[float]:
    return [result.metrics[name] for result in results]


def _rank(row: Mapping[str, Any], metric: str | None) -> tuple[bool, int, float]:
    other_count = not row["comparable"]
    if metric is None or metric not in row["metrics"]:
        return other_count, 0, 0.0
    mean = row["metrics"][metric]["mean"]
    if mean == IDENTICAL:
        return other_count, 1, 0.0
    if mean is None:
        return other_count, 3, 0.0
    return other_count, 2, -METRICS[metric].better * mean
