"""Quality of shared schedules at other step counts, beside runs of just as many plain steps.

The GPH paper has 50 steps only, and no baseline of fewer steps. A schedule is searched for each
number of steps and of full steps, on eight prompts and with residual reuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from golden_path_pack.gph_core.paths.spacings import spacing
from golden_path_pack.gph_core.policies.extrapolation import Reuse

from benchmarks.lab import report
from benchmarks.lab.lab import Lab
from benchmarks.lab.resampling import bootstrapped, paired_difference
from benchmarks.lab.shots import Shot, Shots, Way
from benchmarks.lab.ways import fixed
from benchmarks.study.searched import searched
from benchmarks.study.work import Work, label

TITLE = "Shared schedules at other step counts, beside fewer plain steps"
STEPS, QUICK_STEPS = (50, 28, 20, 12), (8,)
BUDGET, QUICK_BUDGET = 200, 6  # schedules of a search
SEARCHED, UNIFORM, PLAIN = "searched", "uniform", "plain steps"


def measure(work: Work) -> dict:
    rows = []
    for steps in work.size(STEPS, QUICK_STEPS):
        lab = work.lab(steps)
        # Short runs have one count for two ratios.
        for full in dict.fromkeys(work.size(lab.counts, lab.counts[:1])):
            rows.append(row(lab, full, work.size(BUDGET, QUICK_BUDGET)))
            print(f"{lab}, {full} full: {rows[-1]['psnr']}", flush=True)
    return {
        "unit": "dB of PSNR to the full run of as many steps: mean, and 95 % interval of a "
        "bootstrap over the prompts; ahead: of the searched schedule, paired",
        "new prompts": work.lab(STEPS[0]).prompts.unseen, "rows": rows,
    }  # fmt: skip


def row(lab: Lab, full: int, budget: int) -> dict:
    """Searched, uniform and plain steps on the new prompts."""
    schedule = searched(lab, full, budget)
    ways = {
        SEARCHED: fixed(SEARCHED, schedule, Reuse()),
        UNIFORM: fixed(UNIFORM, spacing(lab.steps, full), Reuse()),
        PLAIN: Way(PLAIN, f"{full} plain", None, full),
    }
    shots = Shots(lab)
    found = {name: shots.of(way, range(lab.prompts.unseen)) for name, way in ways.items()}
    return {
        "steps": lab.steps, "full": full, "schedule": str(schedule), **compared(found, SEARCHED),
    }  # fmt: skip


def compared(found: Mapping[str, Sequence[Shot]], ours: str) -> dict:
    """Mean PSNR of each way, and how far one of them is ahead of the others."""
    psnr = {name: np.array([shot.psnr for shot in shots]) for name, shots in found.items()}
    others = (name for name in psnr if name != ours)
    return {
        "psnr": {name: bootstrapped(values) for name, values in psnr.items()},
        "ahead": {name: paired_difference(psnr[ours], psnr[name]) for name in others},
    }


def summary(data: dict) -> str:
    head = ["full of steps", "searched schedule", *(f"{n}, dB" for n in (SEARCHED, UNIFORM, PLAIN))]
    head += ["ahead of uniform", "ahead of plain steps"]
    lines = [
        [
            label(r), r["schedule"],
            *(f"{r['psnr'][name][0]:.2f}" for name in (SEARCHED, UNIFORM, PLAIN)),
            report.gain(r["ahead"][UNIFORM]), report.gain(r["ahead"][PLAIN]),
        ]
        for r in data["rows"]
    ]  # fmt: skip
    return f"On {data['new prompts']} new prompts:\n\n{report.table(head, lines)}"


def draw(data: dict, figure) -> None:
    axes = figure.subplots()
    names = [label(row) for row in data["rows"]]
    for number, (name, marker) in enumerate(((UNIFORM, "o"), (PLAIN, "s"))):
        mean, low, high = np.array([row["ahead"][name] for row in data["rows"]]).T
        places = np.arange(len(names)) + 0.2 * (number - 0.5)
        axes.errorbar(
            places, mean, yerr=(mean - low, high - mean), fmt=marker,
            color=report.COLORS[number], label=f"ahead of {name}",
        )  # fmt: skip
    axes.axhline(0, color=report.GRAY, linewidth=1)
    axes.set_xticks(range(len(names)), names)
    axes.set(xlabel="full steps of all", ylabel="searched schedule ahead by, dB")
    axes.legend()
