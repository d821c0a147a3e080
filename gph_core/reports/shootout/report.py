"""Report of *Method Shootout* in JSON types, with a table and a figure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ...gph_core.analysis.frequency import Frequencies
from ...gph_core.quality import reports
from ...gph_core.quality.comparison import IDENTICAL
from ...gph_core.quality.metric_table import COMPARED
from ...gph_core.quality.shootout import Result, ahead, figures
from ...gph_core.reports import figures as drawing
from ...gph_core.reports.texts import aligned, named
from ...gph_core.schedule import Schedule
from .contenders import FULL, UNIFORM, Contender
from .shootout_session import Shootout

MOST_SCHEDULES = 5  # of a contender, as in the seed paper's figure
# A mean number of full steps as far as this from the wanted one is another number of full steps.
OTHER_COUNT = 0.5


def report_of(
    shootout: Shootout, num_full: int, absent: Mapping[str, str], unavailable: Mapping[str, str],
    network: str | None,
) -> dict[str, Any]:  # fmt: skip
    """Report of the full run, then of comparable candidates, best first by the first metric.

    Before the end it covers the examples that all candidates have run.

    Args:
        num_full: wanted number of full steps.
        absent: reasons why candidates could not take part.
        unavailable: reasons why metrics were not measured.
        network: network of LPIPS, if there is one.
    """
    found = shootout.found()
    compared = [r for name, results in found.items() if name != FULL for r in results]
    # Another session may have lacked a package.
    shared = [m for m in COMPARED if all(m in result.metrics for result in compared)]
    rows = [
        _row(c, found[c.name], num_full, () if c.name == FULL else shared)
        for c in shootout.contenders
    ]
    main = next(iter(shared), None)
    if any(row["name"] == UNIFORM and row["comparable"] for row in rows):
        for row in rows:
            if row["name"] not in (FULL, UNIFORM) and row["comparable"]:
                row["ahead"] = _ahead(found[row["name"]], found[UNIFORM], shared)
    names = [result.example for result in found[FULL]]
    examples = [shootout.workload.examples[shootout.examples[name]] for name in names]
    return {
        "format": reports.FORMAT,
        "conditions": shootout.results.conditions,
        "steps": shootout.workload.num_steps,
        "full_steps": num_full,
        "examples": len(examples),
        # In the order of all values.
        "prompts": [
            {"example": name, "prompt": example.prompt, "seed": example.seed}
            for name, example in zip(names, examples, strict=True)
        ],
        "metric": main,
        "lpips_network": network,
        "rows": sorted(rows, key=lambda row: _rank(row, main)),
        "absent": dict(absent),
        "unavailable": {m: why for m, why in unavailable.items() if m not in shared},
    }


def _row(
    contender: Contender, results: Sequence[Result], num_full: int, metrics: Sequence[str]
) -> dict[str, Any]:
    schedules = Frequencies.of(
        contender.schedule if result.record is None else result.record.realized
        for result in results
    )
    counts = list(schedules.cached_counts.items())
    every = [count for count, runs in counts for _ in range(runs)]
    full = contender.schedule.num_steps - schedules.mean_cached
    return {
        "name": contender.name,
        "kind": _kind(contender),
        "plan": contender.plan,
        "origin": contender.origin,
        "policy": contender.choice and str(contender.choice.policy),
        "steps": contender.schedule.num_steps,
        "runs": len(results),
        "cached": {"mean": schedules.mean_cached, "spread": statistics.pstdev(every)},
        "full": full,
        "comparable": contender.name == FULL or abs(full - num_full) < OTHER_COUNT,
        "seconds": statistics.median(result.seconds for result in results),
        "speedup": statistics.median(result.speedup for result in results),
        "schedules": [
            {"schedule": str(schedule), "share": count / schedules.runs}
            for schedule, count in list(schedules.counts.items())[:MOST_SCHEDULES]
        ],
        "different_schedules": len(schedules.counts),
        "metrics": {name: figures(_values(results, name)) for name in metrics},
        "ahead": {},
        "notes": list(dict.fromkeys(n for r in results if r.record for n in r.record.notes)),
    }


def _kind(contender: Contender) -> str:
    """Kind of a candidate by what decides; a method that decides before the run is fixed."""
    if contender.choice is None:
        return reports.FULL if contender.name == FULL else reports.PLAIN
    return reports.ADAPTIVE if contender.choice.gate else reports.FIXED


def _ahead(
    results: Sequence[Result], baseline: Sequence[Result], metrics: Sequence[str]
) -> dict[str, Any]:
    """Lead of the results in each metric, example by example."""
    return {
        name: ahead(
            *([COMPARED[name].better * v for v in _values(r, name)] for r in (results, baseline))
        )
        for name in metrics
    }


def _values(results: Sequence[Result], name: str) -> list[float]:
    return [result.metrics[name] for result in results]


def _rank(row: Mapping[str, Any], metric: str | None) -> tuple[bool, int, float]:
    other_count = not row["comparable"]
    if metric not in row["metrics"]:
        return other_count, 0, 0.0
    mean = row["metrics"][metric]["mean"]
    if mean == IDENTICAL:
        return other_count, 1, 0.0
    if mean is None:
        return other_count, 3, 0.0
    return other_count, 2, -COMPARED[metric].better * mean


def table(report: Mapping[str, Any]) -> str:
    """Table of the figures, as lines of text."""
    rows, metric = report["rows"], report["metric"]
    shown = [name for name in COMPARED if any(name in row["metrics"] for row in rows)]
    has_lead = any(row["ahead"] for row in rows)
    headings = [COMPARED[name].heading for name in shown]
    titles = ["", "cached steps", "seconds", "speed-up", *headings]
    cells = [[*titles, *(["ahead of uniform"] if has_lead else [])]]
    for row in rows:
        told = [_title(row), _cached(row), f"{row['seconds']:.2f}", f"{row['speedup']:.2f}x"]
        told += [_mean(row, name) for name in shown]
        cells.append([*told, *([_gain(row, metric)] if has_lead else [])])
    order = "" if metric is None else f"; best {COMPARED[metric].heading} first"
    lines = [
        f"{report['steps']} steps, about {report['full_steps']} of them full, on "
        f"{report['examples']} example{'s' * (report['examples'] > 1)}; means with 95 % "
        f"intervals{order}",
        *aligned(cells),
        "seconds: median of sampling alone; speed-up: against the full run of the same session, "
        "median",
    ]
    if has_lead and metric is not None:
        lines.append(
            f"ahead of uniform: {COMPARED[metric].heading} of the same examples, more is better"
        )
    lines.append("")
    for row in rows:
        lines += [f"{row['name']}: {text}" for text in (_described(row), *_remarks(row, report))]
    absent = report["absent"]
    for reason in dict.fromkeys(absent.values()):
        names = ", ".join(name for name in absent if absent[name] == reason)
        lines.append(f"left out: {named(names, reason)}")
    lines += [f"no {name.upper()}: {reason}" for name, reason in report["unavailable"].items()]
    return "\n".join(line.rstrip() for line in lines)


def _title(row: Mapping[str, Any]) -> str:
    return row["name"] if row["comparable"] else f"{row['name']} (not comparable)"


def _described(row: Mapping[str, Any]) -> str:
    """Description: the most frequent schedule, the policy, and what decided."""
    most = row["schedules"][0]
    share = f" in {100 * most['share']:.0f} % of its runs" if most["share"] < 1 else ""
    policy = f", {row['policy']}" if row["policy"] else ""
    return f"{most['schedule']}{share}{policy}; {row['origin'].removeprefix(row['name'] + ', ')}"


def _remarks(row: Mapping[str, Any], report: Mapping[str, Any]) -> list[str]:
    """Remarks on a row that its figures do not show."""
    found = list(row["notes"])
    if not row["comparable"]:
        found.insert(
            0,
            f"not comparable: {row['full']:.4g} of its steps were full on average, "
            f"{report['full_steps']} were wanted",
        )
    return found + [
        f"{mean['identical']} of {row['runs']} examples are identical to the full run; the mean "
        f"of {COMPARED[name].heading} is that of the others"
        for name, mean in row["metrics"].items()
        if 0 < mean["identical"] < row["runs"]
    ]


def _cached(row: Mapping[str, Any]) -> str:
    mean, spread = row["cached"]["mean"], row["cached"]["spread"]
    varies = f" ± {spread:.1f}" if spread else ""
    return f"{mean:.4g}{varies} of {row['steps']}"


def _mean(row: Mapping[str, Any], name: str) -> str:
    if name not in row["metrics"]:
        return ""
    found, form = row["metrics"][name], COMPARED[name].form
    if found["mean"] == IDENTICAL:
        return IDENTICAL
    if found["mean"] is None:
        return "not a number"
    reach = "" if found["low"] is None else f" ± {form.format(found['mean'] - found['low'])}"
    return form.format(found["mean"]) + reach


def _gain(row: Mapping[str, Any], metric: str | None) -> str:
    found = row["ahead"].get(metric)
    if not found or found["mean"] is None:
        return ""
    text = f"{found['mean']:+.3g}"
    return text if found["low"] is None else f"{text} ({found['low']:+.3g} to {found['high']:+.3g})"


def figure(report: Mapping[str, Any]) -> Tensor:
    """Figure of the most frequent schedules of each row with their shares, ``[1, H, W, 3]``.

    Source: seed paper, its Figure 1(a).
    """
    from matplotlib.figure import Figure

    rows, total, metric = report["rows"], report["steps"], report["metric"]
    count = sum(len(row["schedules"]) for row in rows)
    gap = 0.6  # between rows, in strips; with it two lines of text fit beside one strip
    height = count + gap * len(rows)
    sheet = Figure(figsize=(11, 0.9 + 0.26 * height), dpi=110, layout="constrained")
    axes = sheet.add_subplot()
    places, labels, y = [], [], 0.0
    for row in rows:
        places.append(y + (len(row["schedules"]) - 1) / 2)
        labels.append(f"{_title(row)}\n{_mean(row, metric)}".rstrip())
        for entry in row["schedules"]:
            drawing.strip(axes, y, Schedule.parse(entry["schedule"]), total / row["steps"])
            share = f"{100 * entry['share']:.0f} %"
            axes.annotate(share, (total, y), (4, 0), textcoords="offset points", va="center")
            y += 1
        y += gap
    axes.set_yticks(places, labels)
    axes.tick_params(axis="y", length=0)
    drawing.number_steps(axes, total)
    axes.margins(y=0.02)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    measured = "" if metric is None else f"; left: mean {COMPARED[metric].heading}, 95 % interval"
    cut = any(row["different_schedules"] > MOST_SCHEDULES for row in rows)
    most = f" of the {MOST_SCHEDULES} most frequent schedules" if cut else ""
    axes.set_xlabel(
        f"step (dark: full){measured}; right: share{most} of the runs on {report['examples']} "
        "examples"
    )
    return drawing.to_image(sheet)
