"""Number of scoring examples that it takes to choose a schedule that holds on new prompts.

The GPH paper leaves this open. On the exhaustive table, so what is chosen is the best schedule
of the whole space for the examples, and no search stands between.
"""

from __future__ import annotations

import numpy as np

from benchmarks.lab import report
from benchmarks.study import space_table
from benchmarks.study.transfer import losses
from benchmarks.study.work import Work

TITLE = "How many scoring examples a shared schedule needs"
COUNTS = (1, 2, 4, 8, 16, 32)
SUBSETS = 1000


def measure(work: Work) -> dict:
    table = space_table.load(work)
    scoring, means = table.scoring, table.new.mean(axis=1)
    counts = [count for count in COUNTS if count <= scoring.shape[1]]
    return {
        "unit": "dB of PSNR below the best schedule, over subsets of the scoring prompts; ahead: "
        "the part of the subsets whose schedule is ahead of uniform spacing on new prompts",
        "scoring prompts": scoring.shape[1], "new prompts": table.new.shape[1],
        "uniform": float(means.max() - means[table.uniform]),
        "rows": [row(scoring, means, table.uniform, count) for count in counts],
    }  # fmt: skip


def row(scoring: np.ndarray, means: np.ndarray, uniform: int, count: int) -> dict:
    """Loss from choosing on a number of prompts, on all scoring prompts and on new ones."""
    here = losses(scoring, count, at_most=SUBSETS)
    there = losses(scoring, count, means, at_most=SUBSETS)
    return {
        "examples": count, "subsets": len(there), "loss on scoring prompts": here.mean(),
        "loss on new prompts": there.mean(), "percentiles": np.percentile(there, (5, 50, 95)),
        "ahead": float((there < means.max() - means[uniform]).mean()),
    }  # fmt: skip


def summary(data: dict) -> str:
    head = ["scoring examples", "subsets", "loss on all scoring prompts", "loss on new prompts"]
    head += ["90 % of the subsets", "ahead of uniform"]
    lines = [
        [
            r["examples"], r["subsets"], f"{r['loss on scoring prompts']:.3f}",
            f"{r['loss on new prompts']:.3f}",
            f"{r['percentiles'][0]:.3f} to {r['percentiles'][2]:.3f}", f"{r['ahead']:.0%}",
        ]
        for r in data["rows"]
    ]  # fmt: skip
    return (
        f"{report.table(head, lines)}\n\nIn dB. Uniform spacing loses {data['uniform']:.3f} dB on "
        f"the {data['new prompts']} new prompts."
    )


def draw(data: dict, figure) -> None:
    axes = figure.subplots()
    counts = [row["examples"] for row in data["rows"]]
    low, _, high = np.array([row["percentiles"] for row in data["rows"]]).T
    axes.fill_between(counts, low, high, color=report.COLORS[0], alpha=0.2, label="90 % of them")
    for name, style, color in (
        ("loss on new prompts", "o-", report.COLORS[0]),
        ("loss on scoring prompts", "s--", report.COLORS[1]),
    ):
        axes.plot(counts, [row[name] for row in data["rows"]], style, color=color, label=name)
    axes.axhline(data["uniform"], color=report.GRAY, linestyle=":", label="uniform spacing")
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, counts)
    axes.set(xlabel="scoring examples", ylabel="dB below the best schedule")
    axes.legend()
