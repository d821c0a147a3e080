"""Searched schedules beside those of other offline methods, and what the objective changes.

All with residual reuse, so that only schedules differ. Searches score eight prompts; what they
deliver is compared on new ones.

Source: GPH paper, section *Searching for Golden Paths*. SSIM stands for its LPIPS.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from golden_path_pack.gph_core.paths.spacings import spacing
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab import report
from benchmarks.lab.lab import Lab
from benchmarks.lab.resampling import bootstrapped, paired_difference
from benchmarks.lab.shots import Shot, Shots
from benchmarks.lab.ways import fixed, way_of
from benchmarks.study.parts.step_counts import BUDGET, QUICK_BUDGET
from benchmarks.study.searched import searched
from benchmarks.study.work import Work, label

TITLE = "Searched schedules beside other offline methods, and objectives"
STEPS, QUICK_STEPS = 50, 12
OFFLINE = ("BudCache", "MeanCache", "DPCache")
# By name the algorithm, None for the default, and the objective.
SEARCHES = {
    "PSNR": (None, "PSNR"), "SSIM": (None, "SSIM"), "latent MSE": (None, "latent MSE"),
    "at random": ("random", "PSNR"),
}  # fmt: skip
OURS = "PSNR"
METRICS = ("psnr", "ssim", "latent_mse")
SIGNS = {"psnr": 1, "ssim": 1, "latent_mse": -1}  # so that higher is better


def measure(work: Work) -> dict:
    lab = work.lab(work.size(STEPS, QUICK_STEPS))
    counts = work.size(lab.counts, lab.counts[:1])
    lab.calibrate(OFFLINE, counts)
    shots, rows = Shots(lab), []
    for full in counts:
        found = dict(searches(lab, full, work.size(BUDGET, QUICK_BUDGET)))
        found |= dict(offline(lab, full))
        results = {name: on_new_prompts(shots, schedule) for name, schedule in found.items()}
        for name, result in results.items():
            row = {"steps": lab.steps, "full": full, "name": name, "schedule": str(found[name])}
            rows.append(row | compared(result, results[OURS]))
        print(f"{lab}, {full} full: {', '.join(map(str, found.values()))}", flush=True)
    return {
        "unit": "mean over the new prompts; ahead: of this row over the schedule searched for "
        "PSNR, paired, higher is better in all, with the 95 % interval of a bootstrap",
        "new prompts": lab.prompts.unseen, "rows": rows,
    }  # fmt: skip


def searches(lab: Lab, full: int, budget: int) -> Iterator[tuple[str, Schedule]]:
    """What the searches deliver, by name."""
    for name, (algorithm, objective) in SEARCHES.items():
        yield name, searched(lab, full, budget, algorithm, objective)


def offline(lab: Lab, full: int) -> Iterator[tuple[str, Schedule]]:
    """What offline methods choose, and uniform spacing, by name."""
    for name in OFFLINE:
        if way := way_of(name, lab, full):
            yield name, way.schedule
    yield "uniform", spacing(lab.steps, full)


def on_new_prompts(shots: Shots, schedule: Schedule) -> list[Shot]:
    """A schedule with residual reuse, even if made for another policy."""
    way = fixed("schedule", schedule, Reuse())
    return shots.of(way, range(shots.lab.prompts.unseen))


def compared(result: Sequence[Shot], ours: Sequence[Shot]) -> dict:
    """Metrics of a schedule, and how far it is ahead of another on the same prompts."""
    found = {}
    for metric in METRICS:
        mine, other = (np.array([getattr(s, metric) for s in some]) for some in (result, ours))
        sign = SIGNS[metric]
        found[metric] = bootstrapped(mine)
        found[f"{metric} ahead"] = paired_difference(sign * mine, sign * other)
    return found


def summary(data: dict) -> str:
    head = ["full of steps", "schedule of", "full steps", "PSNR, dB", "ahead", "SSIM", "ahead"]
    head += ["latent MSE / 1000"]
    lines = [
        [
            label(r), f"search, {r['name']}" if r["name"] in SEARCHES else r["name"],
            r["schedule"], f"{r['psnr'][0]:.2f}",
            "" if r["name"] == OURS else report.gain(r["psnr ahead"]), f"{r['ssim'][0]:.4f}",
            "" if r["name"] == OURS else report.gain(r["ssim ahead"], 4),
            f"{1000 * r['latent_mse'][0]:.3f}",
        ]
        for r in data["rows"]
    ]  # fmt: skip
    return (
        f"On {data['new prompts']} new prompts with residual reuse; ahead: of the schedule "
        f"searched for PSNR:\n\n{report.table(head, lines)}"
    )


def draw(data: dict, figure) -> None:
    figure.set_size_inches(report.WIDTH, 5)
    panels = figure.subplots(1, 2, sharey=True)
    rows = [row for row in data["rows"] if row["name"] != OURS]
    names = list(dict.fromkeys(row["name"] for row in rows))
    counts = list(dict.fromkeys(label(row) for row in rows))
    for axes, metric, unit in zip(panels, ("psnr", "ssim"), ("PSNR, dB", "SSIM"), strict=True):
        for number, (count, marker) in enumerate(zip(counts, "os^", strict=False)):
            some = [row for row in rows if label(row) == count]
            mean, low, high = np.array([row[f"{metric} ahead"] for row in some]).T
            places = np.array([names.index(row["name"]) for row in some]) + 0.2 * (number - 1)
            axes.errorbar(
                mean, places, xerr=(mean - low, high - mean), fmt=marker,
                color=report.COLORS[number], label=f"{count} full",
            )  # fmt: skip
        axes.axvline(0, color=report.GRAY, linewidth=1)
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel(f"ahead of the search for PSNR: {unit}")
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    panels[0].legend(fontsize=8)
