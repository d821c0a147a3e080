"""Quality of a schedule that was found with Euler under other samplers.

The best schedule of the exhaustive table on the scoring prompts, and other schedules of its space,
under each sampler on the new prompts. The GPH paper leaves this out.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.quality.coverage import coverage
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab import report
from benchmarks.lab.resampling import paired_difference
from benchmarks.lab.shots import Shots
from benchmarks.lab.ways import fixed
from benchmarks.study import space_table
from benchmarks.study.transfer import transfer
from benchmarks.study.work import Work

TITLE = "Whether a schedule found with Euler holds with other samplers"
SAMPLERS = ("euler", "heun", "dpmpp_2m", "uni_pc", "euler_ancestral")
QUICK_SAMPLERS = SAMPLERS[:3]
TOP, DRAWN = 8, 24  # schedules: the best ones on Euler, and random others
MARGIN = 1.0  # dB


def measure(work: Work) -> dict:
    table = space_table.load(work)
    candidates = candidates_of(table, work.size(TOP, 2), work.size(DRAWN, 3))
    uniform = candidates.index(list(table.space)[table.uniform])
    first, count = table.scoring.shape[1], table.new.shape[1]
    numbers = range(first, first + count)
    found = {}
    for sampler in work.size(SAMPLERS, QUICK_SAMPLERS):
        shots = Shots(replace(work, sampler=sampler).lab(table.space.num_steps))
        ways = [fixed("candidate", schedule, Reuse()) for schedule in candidates]
        found[sampler] = np.array([[s.psnr for s in shots.of(way, numbers)] for way in ways])
        print(f"samplers: {sampler}, {found[sampler][0].mean():.2f} dB", flush=True)
    return {
        "unit": "dB of PSNR to the full run of the same sampler, on the new prompts",
        "candidates": [str(schedule) for schedule in candidates], "new prompts": count,
        "means": {sampler: psnr.mean(axis=1) for sampler, psnr in found.items()},
        "rows": [
            {"sampler": sampler, **row(psnr, found[SAMPLERS[0]], uniform)}
            for sampler, psnr in found.items()
        ],
    }  # fmt: skip


def candidates_of(table: space_table.SpaceTable, top: int, drawn: int) -> list[Schedule]:
    """The best ones on the scoring prompts, best first, uniform spacing and random ones."""
    schedules = list(table.space)
    order = np.argsort(-table.scoring.mean(axis=1), kind="stable")
    rng = random.Random(0)
    wanted = [*(schedules[n] for n in order[:top]), schedules[table.uniform]]
    wanted += [table.space.sample(rng) for _ in range(drawn)]
    return list(dict.fromkeys(wanted))


def row(psnr: np.ndarray, on_euler: np.ndarray, uniform: int) -> dict:
    """The candidates ``[C, P]`` under one sampler; the first is the schedule that was found."""
    means = psnr.mean(axis=1)
    regrets = psnr.max(axis=0) - psnr[0]
    (covered,) = coverage(regrets, [MARGIN])
    return {
        "psnr": means[0], "rank": int((means > means[0]).sum()) + 1,
        "loss": means.max() - means[0],
        "spearman": transfer(on_euler.mean(axis=1), means).spearman,
        "ahead of uniform": paired_difference(psnr[0], psnr[uniform]),
        "coverage": [covered.share, covered.lower],
    }  # fmt: skip


def summary(data: dict) -> str:
    head = ["sampler", "PSNR", "rank", "below the best candidate", "ahead of uniform"]
    head += [f"within {MARGIN:g} dB of the prompt's best", "Spearman with Euler"]
    lines = [
        [
            r["sampler"], f"{r['psnr']:.2f}", r["rank"], f"{r['loss']:.2f}",
            report.gain(r["ahead of uniform"]),
            f"{r['coverage'][0]:.0%} (at least {r['coverage'][1]:.0%})", f"{r['spearman']:.3f}",
        ]
        for r in data["rows"]
    ]  # fmt: skip
    return (
        f"{data['candidates'][0]}, the best schedule under Euler on the scoring prompts, among "
        f"{len(data['candidates'])} candidates on {data['new prompts']} new prompts, dB:\n\n"
        f"{report.table(head, lines)}"
    )


def draw(data: dict, figure) -> None:
    means = dict(data["means"])
    euler = means.pop(SAMPLERS[0])
    panels = figure.subplots(1, len(means), squeeze=False)[0]
    for axes, (sampler, others) in zip(panels, means.items(), strict=True):
        axes.plot(euler[1:], others[1:], "o", color=report.COLORS[0], markersize=4)
        axes.plot(euler[0], others[0], "D", color=report.COLORS[1], label="found with Euler")
        axes.set(xlabel="Euler, dB", title=sampler)
    panels[0].set_ylabel("PSNR with the other sampler, dB")
    panels[0].legend(fontsize=8)
