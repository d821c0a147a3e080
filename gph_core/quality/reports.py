"""Tables of quality by way of sampling and prompt, from JSON reports of *Method Shootout*.

Reports of several policies or sets of prompts are joined; each number of full steps has a table.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..files.condition_diff import first_difference
from ..schedule import Schedule
from .margins import changes_per_cached_step
from .metric_table import METRICS
from .objective import Objective
from .shootout import number

FORMAT = "golden-path-shootout-report-1"
FULL, FIXED, ADAPTIVE, PLAIN = "full", "fixed", "adaptive", "plain"  # kinds of rows
_Report = Mapping[str, Any]


@dataclass(frozen=True)
class CandidateRow:
    """One way of sampling.

    Args:
        label: its name, and its policy where several have that name.
        kind: FIXED: one schedule for all runs; ADAPTIVE: one for each; PLAIN: without a cache.
        policy: None without a cache.
        schedule: the most frequent one.
    """

    name: str
    label: str
    kind: str
    policy: str | None
    schedule: Schedule


@dataclass(frozen=True)
class QualityTable:
    """Measurements at one number of full steps.

    Args:
        prompts: texts, or names of examples without a text.
        quality: ``[C, P]``, higher is better; the mean over the seeds of a prompt.
        num_incomplete: examples left out because some candidate lacks them.
        other_counts: candidates left out because of another number of full steps.
    """

    num_full: int
    candidates: tuple[CandidateRow, ...]
    prompts: tuple[str, ...]
    quality: np.ndarray
    num_incomplete: int
    other_counts: tuple[str, ...]

    def rows(self, kind: str) -> list[int]:
        """Rows of the candidates of one kind."""
        return [row for row, candidate in enumerate(self.candidates) if candidate.kind == kind]


def tables(reports: Sequence[_Report], objective: Objective) -> list[QualityTable]:
    """A table for each number of full steps, the largest first.

    Raises:
        ValueError: the reports differ in conditions, lack a metric, or candidates with the same
            number of full steps have no example in common.
    """
    groups: dict[int, list[_Report]] = {}
    for report in reports:
        _check_same(reports[0], report)
        groups.setdefault(report["full_steps"], []).append(report)
    return [
        _table(num_full, group, objective) for num_full, group in sorted(groups.items())[::-1]
    ]  # fmt: skip


def changes(tables: Sequence[QualityTable]) -> list[float]:
    """Costs of one more cached step, of each fixed candidate that several tables have.

    On the prompts that all tables have; empty if there is none. Source: see ``margins``.
    """
    prompts = [p for p in tables[0].prompts if all(p in table.prompts for table in tables)]
    by_candidate: dict[tuple[str, str | None], dict[int, np.ndarray]] = {}
    for table in tables:
        columns = [table.prompts.index(prompt) for prompt in prompts]
        for row in table.rows(FIXED):
            candidate = table.candidates[row]
            counts = by_candidate.setdefault((candidate.name, candidate.policy), {})
            counts[candidate.schedule.num_cached] = table.quality[row, columns]
    return [
        change
        for counts in by_candidate.values()
        if len(counts) > 1 and prompts
        for change in changes_per_cached_step(list(counts.values()), list(counts))
    ]


def crossing(table: QualityTable) -> tuple[list[Schedule], list[str], np.ndarray] | None:
    """Schedules, policies, and the mean qualities ``[S, P]`` of each schedule under each policy.

    The largest complete block of pairs; None without two schedules under two policies.
    """
    cells: dict[Schedule, dict[str, float]] = {}
    for row in table.rows(FIXED):
        candidate = table.candidates[row]
        cells.setdefault(candidate.schedule, {})[str(candidate.policy)] = table.quality[row].mean()
    blocks = []
    for policies in cells.values():
        schedules = [s for s, means in cells.items() if policies.keys() <= means.keys()]
        if min(len(schedules), len(policies)) > 1:
            blocks.append((schedules, list(policies)))
    if not blocks:
        return None
    schedules, policies = max(blocks, key=lambda block: len(block[0]) * len(block[1]))
    return schedules, policies, np.array([[cells[s][p] for p in policies] for s in schedules])


def distinct(labels: Sequence[str]) -> list[str]:
    """The labels, repeated ones with a number."""
    return [
        label if label not in labels[:place] else f"{label} ({labels[:place].count(label) + 1})"
        for place, label in enumerate(labels)
    ]


def _check_same(first: _Report, report: _Report) -> None:
    # The device costs seconds, not quality.
    one, other = ({**r["conditions"], "device": None} for r in (first, report))
    if difference := first_difference(one, other):
        field, former, present = difference
        raise ValueError(
            f"one shootout was made with the {field} {former}, another one has {present}; connect "
            "shootouts that differ in policies, methods, examples or numbers of full steps alone"
        )


def _table(num_full: int, reports: Sequence[_Report], objective: Objective) -> QualityTable:
    rows: dict[str, Mapping[str, Any]] = {}
    values: dict[str, dict[str, float]] = {}  # by plan and example
    prompts: dict[str, str] = {}  # by example
    others: dict[str, None] = {}
    for report in reports:
        examples = [entry["example"] for entry in report["prompts"]]
        prompts |= {e["example"]: e["prompt"] or e["example"] for e in report["prompts"]}
        for row in report["rows"]:
            if row["kind"] != FULL and row["comparable"]:
                rows.setdefault(row["plan"], row)
                qualities = zip(examples, _qualities(row, objective), strict=True)
                values.setdefault(row["plan"], {}).update(qualities)
            elif not row["comparable"]:
                others[row["name"]] = None
    of_prompt: dict[str, list[str]] = {}
    for example, prompt in prompts.items():
        if all(example in qualities for qualities in values.values()):
            of_prompt.setdefault(prompt, []).append(example)
    if not (rows and of_prompt):
        raise ValueError(
            f"the shootouts with {num_full} full steps have no example on which all "
            f"{len(rows)} ways of sampling ran; give them the same examples or the same methods"
        )
    quality = [
        [statistics.fmean(values[plan][e] for e in examples) for examples in of_prompt.values()]
        for plan in rows
    ]
    complete = sum(map(len, of_prompt.values()))
    return QualityTable(
        num_full, _candidates(list(rows.values())), tuple(of_prompt), np.array(quality),
        len(prompts) - complete, tuple(others),
    )  # fmt: skip


def _qualities(row: Mapping[str, Any], objective: Objective) -> list[float]:
    """Qualities of each example; ``ValueError`` if a metric is missing."""
    if missing := [name for name in objective.metrics if name not in row["metrics"]]:
        raise ValueError(
            f"a shootout has no {METRICS[missing[0]].title} of {row['name']}; choose another "
            "metric, or make it with all that this one needs"
        )
    columns = [[number(v) for v in row["metrics"][m]["values"]] for m in objective.metrics]
    return [
        objective.value(dict(zip(objective.metrics, values, strict=True)))
        for values in zip(*columns, strict=True)
    ]


def _candidates(rows: Sequence[Mapping[str, Any]]) -> tuple[CandidateRow, ...]:
    names = [row["name"] for row in rows]
    labels = distinct([
        row["name"] if names.count(row["name"]) == 1 else f"{row['name']}, {row['policy']}"
        for row in rows
    ])  # fmt: skip
    return tuple(
        CandidateRow(
            row["name"], label, row["kind"], row["policy"],
            Schedule.parse(row["schedules"][0]["schedule"]),
        )
        for row, label in zip(rows, labels, strict=True)
    )  # fmt: skip
