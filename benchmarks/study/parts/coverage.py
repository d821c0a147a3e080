"""Share of new prompts for which one schedule comes near the best of several candidates.

Source: GPH paper, appendix *The coverage test*. SSIM stands for its LPIPS, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from golden_path_pack.gph_core.quality import margins
from golden_path_pack.gph_core.quality.coverage import coverage, regrets, shared_schedule

from benchmarks.lab import report
from benchmarks.lab.shots import Shots
from benchmarks.study import field
from benchmarks.study.field import METRICS, RANDOM, UNIFORM, Field
from benchmarks.study.parts.objectives import OFFLINE, QUICK_STEPS, STEPS
from benchmarks.study.work import Work, label

TITLE = "How often one schedule is near the best candidate of a new prompt"
SMALL, ENLARGED = "smaller", "enlarged"
UNITS = {"PSNR": " dB", "SSIM": ""}
OF_SOURCE, DERIVED = "of the source", "derived here"


def measure(work: Work) -> dict:
    lab = work.lab(work.size(STEPS, QUICK_STEPS))
    counts = work.size(lab.counts, lab.counts[:1])
    lab.calibrate(OFFLINE, counts)
    shots, selection = Shots(lab), lab.prompts.unseen // 3
    fields = [field.measured(work, shots, full, selection) for full in counts]
    costs = {metric: changes(fields, metric, selection) for metric in METRICS}
    return {
        "unit": "shares of the new prompts; chosen: with the highest coverage at the tightest "
        "margin on them, with bounds that are corrected for the number of candidates; beforehand: "
        "the same on the selection prompts, with plain bounds; changes: of the median, for each "
        "cached step more",
        "selection prompts": selection, "new prompts": lab.prompts.unseen - selection,
        "changes": costs,
        "fields": [
            {
                "steps": f.steps, "full": f.full, "gaps": shown(f, selection),
                "schedules": {name: str(schedule) for name, schedule in f.schedules.items()},
            }
            for f in fields
        ],
        "rows": [
            {"metric": metric, "kind": kind, "margins": values, "steps": f.steps, "full": f.full,
             "set": size, **covered(f, count, metric, selection, values)}
            for metric in METRICS
            for kind, values in margins_of(metric, costs[metric]).items()
            for f in fields
            for size, count in ((SMALL, f.small), (ENLARGED, len(f.schedules)))
        ],
    }  # fmt: skip


def changes(fields: Sequence[Field], metric: str, selection: int) -> list[float]:
    """Cost of one more cached step under the source's four schedules; empty at one number alone."""
    if len(fields) < 2:
        return []
    return [
        change
        for name in (*OFFLINE, UNIFORM)
        for change in margins.changes_per_cached_step(
            [f.quality[metric][list(f.schedules).index(name), selection:] for f in fields],
            [f.steps - f.full for f in fields],
        )
    ]


def margins_of(metric: str, costs: Sequence[float]) -> dict[str, tuple[float, ...]]:
    """Margins of the source, and equivalent ones where the cost of a cached step is known."""
    found = {OF_SOURCE: margins.PUBLISHED[metric]}
    return found | ({DERIVED: margins.derived(costs)} if costs else {})


def covered(
    f: Field, count: int, metric: str, selection: int, values: Sequence[float]
) -> dict:  # fmt: skip
    """The schedule with the highest coverage among the first candidates, and its coverage.

    Args:
        selection: so many prompts choose beforehand; the others are the new ones.
        values: margins, tightest first.
    """
    quality, names = f.quality[metric][:count], list(f.schedules)[:count]
    before, new = regrets(quality[:, :selection]), regrets(quality[:, selection:])
    chosen, prior = (shared_schedule(some, values[0]) for some in (new, before))
    shares = (new <= values[0]).mean(axis=1)
    drawn = [share for name, share in zip(names, shares, strict=True) if name.startswith(RANDOM)]
    return {
        "candidates": count, "chosen": names[chosen], "beforehand": names[prior],
        "coverage": [[c.share, c.corrected] for c in coverage(new[chosen], values, count)],
        "coverage beforehand": [[c.share, c.lower] for c in coverage(new[prior], values)],
        "best random": max(drawn) if drawn else None,
    }  # fmt: skip


def shown(f: Field, selection: int) -> dict[str, np.ndarray]:
    """Regrets in PSNR of some schedules of the enlarged set, in ascending order.

    No random one is there if others chose all that were drawn.
    """
    below = np.sort(regrets(f.quality["PSNR"][:, selection:]))
    tightest = margins.PUBLISHED["PSNR"][0]
    shares, names = (below <= tightest).mean(axis=1), list(f.schedules)
    drawn = [row for row, name in enumerate(names) if name.startswith(RANDOM)]
    found = {
        "with the highest coverage": below[shares.argmax()],
        "uniform": below[names.index(UNIFORM)],
    }
    return found | ({"best random": below[max(drawn, key=shares.__getitem__)]} if drawn else {})


def summary(data: dict) -> str:
    parts = [
        f"{data['new prompts']} new prompts; {data['selection prompts']} others count how often "
        "adaptive methods choose a schedule, and choose one beforehand. In brackets a lower bound "
        "of 95 % confidence, corrected for the number of candidates where the schedule was chosen "
        "by these prompts."
    ]
    for metric, kind in dict.fromkeys((r["metric"], r["kind"]) for r in data["rows"]):
        rows = [r for r in data["rows"] if (r["metric"], r["kind"]) == (metric, kind)]
        parts += [f"{metric}, margins {kind}{_cost(data, metric, rows[0])}:", _table(metric, rows)]
        parts.append("\n".join(f"- {_passed(rows, size)}" for size in (SMALL, ENLARGED)))
    parts += ["Full steps of the chosen schedules:", _chosen(data)]
    return "\n\n".join(parts)


def _cost(data: dict, metric: str, row: dict) -> str:
    costs, unit = data["changes"][metric], UNITS[metric]
    if not costs:
        return ""
    median = np.median(costs)
    factors = ", ".join(f"{margin / median:.2f}" for margin in row["margins"])
    return (
        f": {factors} times the cost of one more cached step ({median:.3g}{unit}, the median of "
        f"{len(costs)} values from {min(costs):.3g} to {max(costs):.3g})"
    )


def _table(metric: str, rows: list[dict]) -> str:
    limits = [f"{margin:.3g}{UNITS[metric]}" for margin in rows[0]["margins"]]
    head = ["full of steps", "set", "candidates", "chosen", *limits]
    head += ["chosen beforehand", *limits, f"best random, {limits[0]}"]
    return report.table(head, [
        [
            label(r), r["set"], r["candidates"], r["chosen"], *map(_cell, r["coverage"]),
            r["beforehand"], *map(_cell, r["coverage beforehand"]),
            "" if r["best random"] is None else f"{r['best random']:.0%}",
        ]
        for r in rows
    ])  # fmt: skip


def _cell(found: list[float]) -> str:
    share, bound = found
    return f"{share:.0%} ({bound:.0%})"


def _passed(rows: list[dict], size: str) -> str:
    """Number of lower bounds above one half."""
    some = [row for row in rows if row["set"] == size]

    def passed(cells: str) -> str:
        bounds = np.array([row[cells] for row in some])[:, :, 1]
        return ", ".join(map(str, (bounds > 0.5).sum(axis=0)))

    return (
        f"{size} sets: of {len(some)}, bounds above one half at the three margins "
        f"{passed('coverage')}; chosen beforehand {passed('coverage beforehand')}."
    )


def _chosen(data: dict) -> str:
    """The schedules of the names in the tables."""
    lines = []
    for found in data["fields"]:
        rows = [row for row in data["rows"] if row["full"] == found["full"]]
        names = dict.fromkeys(row[by] for row in rows for by in ("chosen", "beforehand"))
        lines += [f"- {label(found)}, {name}: {found['schedules'][name]}" for name in names]
    return "\n".join(lines)


def draw(data: dict, figure) -> None:
    panels = figure.subplots(1, len(data["fields"]), sharey=True, squeeze=False)[0]
    limits = margins.PUBLISHED["PSNR"]
    for axes, found in zip(panels, data["fields"], strict=True):
        for (name, below), color, style in zip(
            found["gaps"].items(), report.COLORS, ("-", "--", ":"), strict=False
        ):
            share = np.arange(1, len(below) + 1) / len(below)
            axes.step(below, share, style, where="post", color=color, label=name)
        for limit in limits:
            axes.axvline(limit, color=report.GRAY, linewidth=0.8)
        axes.set_xlim(0, 6 * limits[-1])
        axes.set_ylim(0, 1)
        axes.set_title(f"{label(found)} full", fontsize=10)
    panels[0].set_ylabel("share of the new prompts")
    figure.supxlabel("dB below the prompt's best candidate; gray: the margins", fontsize=10)
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, fontsize=8, loc="outside upper center", ncols=3)
