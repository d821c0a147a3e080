"""Cost of giving every prompt an adaptive method's most frequent schedule.

The schedule is selected on a third of the prompts and replayed on the others where the method chose
another one; so are random schedules of as many full steps.

Source: GPH paper, section *Shared schedules retain quality on new prompts* and its appendix on
images.
"""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks.lab import replay, report
from benchmarks.study.adaptive import METHODS, runs
from benchmarks.study.work import Work, label

TITLE = "One schedule in place of an adaptive method"
FEW = 10  # runs; below them nothing is concluded
LOSS = 0.25  # dB


def measure(work: Work) -> dict:
    rows = []
    for lab, shots, way, found in runs(work):
        again = replay.replay(lab, shots, way, found)
        adaptive = statistics.fmean(shot.psnr for shot in found)
        here = {"method": way.name, "steps": lab.steps, "full": way.num_full, "psnr": adaptive}
        rows.append(here | again)
        print(f"{lab}, {way.num_full} full, {way.name}: {again['replayed psnr']}", flush=True)
    return {
        "unit": "the shared or random schedule less the method's own choice, over the runs where "
        "both differ: mean and half of its 95 % interval by Student's t; random: of "
        f"{replay.DRAWS} schedules, over their means; psnr: of the method on all prompts, dB",
        "few": work.size(FEW, 2), "rows": rows,
    }  # fmt: skip


def summary(data: dict) -> str:
    head = ["full of steps", "method", "PSNR, dB", "shared schedule", "runs that differ"]
    head += ["shared, dB", "SSIM", "random, dB", "SSIM"]
    lines = [
        [
            label(r), r["method"], f"{r['psnr']:.2f}", r["schedule"], r["runs"],
            *(
                _with_half(r[f"{kind} {metric}"], digits)
                for kind in ("replayed", "random")
                for metric, digits in (("psnr", 2), ("ssim", 3))
            ),
        ]
        for r in data["rows"]
    ]  # fmt: skip
    return f"{report.table(head, lines)}\n\n{_summary(data)}"


def _with_half(interval: list[float] | None, digits: int) -> str:
    if interval is None:
        return ""
    mean, half = interval
    return f"{mean:+.{digits}f} ± {half:.{digits}f}"


def counted(data: dict) -> list[dict]:
    """The rows with enough runs that differ."""
    return [row for row in data["rows"] if row["runs"] >= data["few"]]


def _summary(data: dict) -> str:
    rows = counted(data)
    if not rows:
        return f"No pair has {data['few']} runs that differ."
    differing = sum(row["runs"] for row in rows)
    means, halves = np.array([row["replayed psnr"] for row in rows]).T
    random_means = np.array([row["random psnr"][0] for row in rows])
    worse = {
        name: f"{sum(r['random psnr'][0] < r['replayed psnr'][0] for r in some)} of {len(some)}"
        for name in METHODS
        if (some := [row for row in rows if row["method"] == name])
    }
    return (
        f"Over the {len(rows)} pairs with {data['few']} such runs or more ({differing} runs): the "
        f"absolute change of mean PSNR has a median of {np.median(abs(means)):.2f} dB, the change "
        f"goes from {means.min():+.2f} to {means.max():+.2f} and is above -{LOSS} in "
        f"{(means > -LOSS).sum()}. Its interval is below 0 in {(means + halves < 0).sum()}, above "
        f"0 in {(means - halves > 0).sum()}. Random schedules: median "
        f"{np.median(random_means):+.2f} dB, worse than the shared one in "
        f"{', '.join(f'{count} ({name})' for name, count in worse.items())}."
    )


def draw(data: dict, figure) -> None:
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, kind in zip(panels, ("replayed", "random"), strict=True):
        for color, marker, name in zip(report.COLORS, "os^D", METHODS, strict=False):
            some = [row for row in counted(data) if row["method"] == name]
            adaptive = np.array([row["psnr"] for row in some])
            change, half = np.array([row[f"{kind} psnr"] for row in some]).reshape(-1, 2).T
            axes.errorbar(adaptive, change, yerr=half, fmt=marker, color=color, label=name)
        axes.axhline(0, color=report.GRAY, linewidth=1)
        axes.set(title=f"{kind} schedule", xlabel="PSNR of the adaptive method, dB")
    panels[0].set_ylabel("change of mean PSNR, dB")
    panels[0].legend(fontsize=8)
