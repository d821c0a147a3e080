"""Table of *Method Shootout*, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...quality.comparison import IDENTICAL
from ...quality.metric_table import COMPARED, JUDGED, METRICS
from ...texts import aligned, named
from .. import tallies


def table(report: Mapping[str, Any]) -> str:
    rows, metric = report["rows"], report["metric"]
    columns = _columns(rows)
    has_lead = any(row["ahead"] for row in rows)
    titles = ["", "cached steps", "seconds", "speed-up", *[heading for heading, _ in columns]]
    cells = [[*titles, *(["ahead of uniform"] if has_lead else [])]]
    for n, row in enumerate(rows):
        line = [title_of(row), _cached(row), f"{row['seconds']:.2f}", f"{row['speedup']:.2f}x"]
        line += [texts[n] for _, texts in columns]
        cells.append([*line, *([_gain(row, metric)] if has_lead else [])])
    order = "" if metric is None else f"; best {METRICS[metric].heading} first"
    lines = [
        f"{report['steps']} steps, about {report['full_steps']} of them full, on "
        f"{report['examples']} example{'s' * (report['examples'] > 1)}; means with 95 % "
        f"intervals{order}",
        *aligned(cells),
        "seconds: median of sampling alone; speed-up: against the full run of the same session, "
        "median",
    ]
    if any(tallies.is_tallied(row["metrics"].get("psnr", {})) for row in rows):
        lines.append(tallies.legend("examples"))
    if has_lead and metric is not None:
        lines.append(
            f"ahead of uniform: difference in {METRICS[metric].heading} on the same examples, "
            "more is better"
        )
    lines.append("")
    for row in rows:
        lines += [f"{row['name']}: {text}" for text in (_described(row), *_remarks(row, report))]
    absent = report["absent"]
    for reason in dict.fromkeys(absent.values()):
        names = ", ".join(name for name in absent if absent[name] == reason)
        lines.append(f"left out: {named(names, reason)}")
    unavailable = report["unavailable"].items()
    lines += [f"no {COMPARED[name].title}: {reason}" for name, reason in unavailable]
    return "\n".join(line.rstrip() for line in lines)


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Headings of the metrics, and what stands below them in each row."""
    metrics = [row["metrics"] for row in rows]
    columns = []
    for name in (*COMPARED, *JUDGED):
        if any(name in measured for measured in metrics):
            columns.append((METRICS[name].heading, [mean_of(row, name) for row in rows]))
        if name == "psnr":
            columns += tallies.columns(metrics)
    return columns


def title_of(row: Mapping[str, Any]) -> str:
    """Name of a row, marked if its number of full steps differs."""
    return row["name"] if row["comparable"] else f"{row['name']} (not comparable)"


def _described(row: Mapping[str, Any]) -> str:
    most = row["schedules"][0]
    share = f" in {100 * most['share']:.0f} % of its runs" if most["share"] < 1 else ""
    policy = f", {row['policy']}" if row["policy"] else ""
    return f"{most['schedule']}{share}{policy}; {row['origin'].removeprefix(row['name'] + ', ')}"


def _remarks(row: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    remarks = list(row["notes"])
    if not row["comparable"]:
        remarks.insert(
            0,
            f"not comparable: {row['full']:.4g} of its steps were full on average, "
            f"{report['full_steps']} were wanted",
        )
    return remarks + [
        f"{mean['identical']} of {row['runs']} examples are identical to the full run; the mean "
        f"of {METRICS[name].heading} is that of the others"
        for name, mean in row["metrics"].items()
        if 0 < mean["identical"] < row["runs"]
    ]


def _cached(row: Mapping[str, Any]) -> str:
    mean, spread = row["cached"]["mean"], row["cached"]["spread"]
    varies = f" ± {spread:.1f}" if spread else ""
    return f"{mean:.4g}{varies} of {row['steps']}"


def mean_of(row: Mapping[str, Any], name: str | None) -> str:
    """Mean of a metric with half of its interval, as text; empty if not measured."""
    if name is None or name not in row["metrics"]:
        return ""
    mean, form = row["metrics"][name], METRICS[name].form
    if mean["mean"] == IDENTICAL:
        return IDENTICAL
    if mean["mean"] is None:
        return "not a number"
    if mean["low"] is None:
        return form.format(mean["mean"])
    reach = form.replace("+", "").format(mean["mean"] - mean["low"])
    return f"{form.format(mean['mean'])} ± {reach}"


def _gain(row: Mapping[str, Any], metric: str | None) -> str:
    lead = row["ahead"].get(metric)
    if not lead or lead["mean"] is None:
        return ""
    text = f"{lead['mean']:+.3g}"
    return text if lead["low"] is None else f"{text} ({lead['low']:+.3g} to {lead['high']:+.3g})"
