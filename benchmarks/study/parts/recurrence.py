"""Number of different schedules that adaptive methods choose over many prompts.

Source: GPH paper, section *Shared Schedules Recur and Transfer* and appendix
*Schedule-distribution statistics*.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from golden_path_pack.gph_core.analysis.frequency import Frequencies
from golden_path_pack.gph_core.reports.figures import number_steps, strip
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab import report
from benchmarks.study.adaptive import METHODS, runs
from benchmarks.study.work import Work, label

TITLE = "How many schedules adaptive methods choose"
TOP = (1, 3, 10)
SHOWN = 5  # schedules


def measure(work: Work) -> dict:
    rows = []
    for lab, _, way, found in runs(work):
        schedules = [Schedule.parse(shot.schedule) for shot in found]
        rows.append({
            "method": way.name, "steps": lab.steps, "full": way.num_full, **figures_of(schedules),
        })  # fmt: skip
        print(f"{lab}, {way.num_full} full, {way.name}: {rows[-1]['unique']}", flush=True)
    return {
        "unit": "shares of the runs, one a new prompt; effective: equally frequent schedules of "
        "the same entropy; halves: whether both halves of the runs have the same most frequent one",
        "rows": rows,
    }  # fmt: skip


def figures_of(schedules: Sequence[Schedule]) -> dict:
    """Summary of the runs of one method."""
    found = Frequencies.of(schedules)
    half = len(schedules) // 2
    halves = [Frequencies.of(part) for part in (schedules[:half], schedules[half:])]
    first, second = (part.most_frequent() for part in halves)
    most = list(found.counts.items())[:SHOWN]
    return {
        "runs": found.runs, "cached": found.mean_cached, "unique": len(found.counts),
        "effective": found.effective, "top": [found.top(r) for r in TOP],
        "halves": first == second, "distance of halves": first.distance(second),
        "most": [[str(schedule), count / found.runs] for schedule, count in most],
    }  # fmt: skip


def summary(data: dict) -> str:
    head = ["full of steps", "method", "runs", "cached, mean", "unique", "effective"]
    head += [*(f"top {r}" for r in TOP), "halves alike", "most frequent"]
    lines = [
        [
            label(r), r["method"], r["runs"], f"{r['cached']:.2f}", r["unique"],
            f"{r['effective']:.2f}", *(f"{share:.0%}" for share in r["top"]),
            "yes" if r["halves"] else f"{r['distance of halves']} steps apart", r["most"][0][0],
        ]
        for r in data["rows"]
    ]  # fmt: skip
    top3 = [r["top"][TOP.index(3)] for r in data["rows"]]
    unique = [r["unique"] for r in data["rows"]]
    names = dict.fromkeys(r["method"] for r in data["rows"])
    by_method = {n: [r["effective"] for r in data["rows"] if r["method"] == n] for n in names}
    effective = (f"{name} {statistics.fmean(some):.2f}" for name, some in by_method.items())
    return (
        f"{report.table(head, lines)}\n\nOver the {len(top3)} pairs of method and setting the "
        f"share of the three most frequent schedules has a median of {statistics.median(top3):.1%} "
        f"({min(top3):.1%} to {max(top3):.1%}), the number of different ones a median of "
        f"{statistics.median(unique):g} ({min(unique)} to {max(unique)}). Effective number, mean: "
        f"{', '.join(effective)}. Both halves of the prompts have the same most frequent schedule "
        f"in {sum(r['halves'] for r in data['rows'])} pairs."
    )


def draw(data: dict, figure) -> None:
    figure.set_size_inches(report.WIDTH, 6)
    steps = max(row["steps"] for row in data["rows"])
    counts = sorted({row["full"] for row in data["rows"] if row["steps"] == steps})
    full = counts[len(counts) // 2]
    shown = [r for r in data["rows"] if r["steps"] == steps and r["full"] == full]
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    lines = [(f"{row['method']} {share:.0%}", text) for row in shown for text, share in row["most"]]
    for number, (_, text) in enumerate(lines):
        strip(left, number, Schedule.parse(text))
    left.set_yticks(range(len(lines)), [name for name, _ in lines], fontsize=8)
    left.invert_yaxis()
    number_steps(left, steps)
    left.set(title=f"most frequent schedules, {full} of {steps} full", xlabel="step")
    settings = list(dict.fromkeys(map(label, data["rows"])))
    for number, (marker, name) in enumerate(zip("os^D", METHODS, strict=True)):
        some = [row for row in data["rows"] if row["method"] == name]
        shares = [row["top"][TOP.index(3)] for row in some]
        places = [settings.index(label(row)) + 0.15 * (number - 1.5) for row in some]
        right.plot(shares, places, marker, color=report.COLORS[number], label=name)
    right.set_yticks(range(len(settings)), settings)
    right.set(title="share of the top three", xlabel="of the runs")
    right.set_xlim(0, 1.05)
    right.invert_yaxis()
    right.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.4, -0.1))
