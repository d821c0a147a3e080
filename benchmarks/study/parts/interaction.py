"""Dependence of the best schedule on the approximation policy.

The source's four schedules, that of MeanCache and random ones, each under its five policies.

Source: GPH paper, section *The approximation policy changes schedule quality* and appendix
*Schedule and approximation policy comparisons*, which has the four.
"""

from __future__ import annotations

import numpy as np
from golden_path_pack.gph_core.analysis.interaction import interaction
from golden_path_pack.gph_core.paths.spacings import spacing
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab import report
from benchmarks.lab.lab import Lab
from benchmarks.lab.resampling import paired_difference
from benchmarks.lab.shots import Shots
from benchmarks.lab.ways import fixed, way_of
from benchmarks.study import candidates as other_origins
from benchmarks.study.adaptive import of_lab
from benchmarks.study.parts.objectives import OFFLINE, QUICK_STEPS, STEPS
from benchmarks.study.transfer import transfer
from benchmarks.study.work import Work, label

TITLE = "Whether the best schedule depends on the approximation policy"
PROMPTS, DRAWN = 40, 5
DICACHE, UNIFORM = "DiCache, most frequent", "uniform"
PAPERS = ("BudCache", "DPCache", UNIFORM, DICACHE)
REUSE = "reuse"
FIRST = (0, 1, 2)  # full, which Hermite prediction needs


def measure(work: Work) -> dict:
    lab = work.lab(work.size(STEPS, QUICK_STEPS))
    counts = work.size(lab.counts, lab.counts[:1])
    lab.calibrate(OFFLINE, counts)
    shots, prompts = Shots(lab), range(work.size(PROMPTS, lab.prompts.unseen))
    rows = []
    for full in counts:
        found = candidates(lab, full, work.size(DRAWN, 2))
        quality = np.array([
            [[s.psnr for s in shots.of(fixed(name, schedule, policy), prompts)]
             for policy in policies().values()]
            for name, schedule in found.items()
        ])  # fmt: skip
        named = {name: str(schedule) for name, schedule in found.items()}
        rows.append({"steps": lab.steps, "full": full, "schedules": named})
        rows[-1] |= figures_of(list(found), list(policies()), quality)
        print(f"{lab}, {full} full: {rows[-1]['shares']}", flush=True)
    return {
        "unit": "dB of PSNR to the full run; shares: of the squared deviations of the means; "
        "halves: correlation of the interactions on both halves of the prompts; losses: of the "
        "best schedule under the policy of the row, under that of the column; sure: their 95 % "
        "intervals of a bootstrap over the prompts are above 0",
        "policies": list(policies()), "new prompts": len(prompts), "rows": rows,
    }  # fmt: skip


def policies() -> dict:
    """The source's five by short names. None of them is fitted to a model or schedule."""
    return {
        REUSE: Reuse(), "Taylor": Taylor(1), "Hermite": Hermite(2),
        "mean velocity": MeanVelocity(), "two-anchor": TwoAnchor(),
    }  # fmt: skip


def candidates(lab: Lab, full: int, count: int) -> dict[str, Schedule]:
    """Schedules by name, those under which every policy can predict."""
    found = {UNIFORM: spacing(lab.steps, full, len(FIRST))}
    found |= {name: way.schedule for name in OFFLINE if (way := way_of(name, lab, full))}
    for runs in of_lab(lab, [full], ["DiCache"]):
        if schedule := other_origins.frequent(runs.found, full):
            found[DICACHE] = schedule
    found |= other_origins.drawn(lab.steps, full, count)
    every = other_origins.distinct(found)
    return {name: schedule for name, schedule in every.items() if schedule.full_steps[:3] == FIRST}


def figures_of(names: list[str], policies: list[str], quality: np.ndarray) -> dict:
    """Summary of the PSNR ``[S, A, P]`` of schedules under policies on prompts."""
    means = quality.mean(axis=2)
    papers = [row for row, name in enumerate(names) if name in PAPERS]
    half = quality.shape[2] // 2
    one, other = (
        interaction(part.mean(axis=2)).residuals.ravel()
        for part in (quality[:, :, :half], quality[:, :, half:])
    )
    best = means.argmax(axis=0)
    losses = [
        [paired_difference(quality[best[b], b], quality[best[a], b]) for b in range(len(best))]
        for a in range(len(best))
    ]
    return {
        "psnr": means, "mean": means.mean(),
        "shares": interaction(means).shares._asdict(),
        "shares of the source's schedules": interaction(means[papers]).shares._asdict(),
        "halves": np.corrcoef(one, other)[0, 1],
        "best": {policy: names[row] for policy, row in zip(policies, best, strict=True)},
        "losses": [[loss.mean for loss in row] for row in losses],
        "sure": sum(loss.low > 0 for row in losses for loss in row),
        "spearman": [[transfer(a, b).spearman for b in means.T] for a in means.T],
    }  # fmt: skip


def summary(data: dict) -> str:
    head = ["full of steps", "PSNR, mean", "schedule", "policy", "interaction"]
    head += ["the source's four: schedule", "policy", "interaction"]
    shares = [
        [
            label(r), f"{r['mean']:.2f}", *(f"{share:.3f}" for share in r["shares"].values()),
            *(f"{share:.3f}" for share in r["shares of the source's schedules"].values()),
        ]
        for r in data["rows"]
    ]  # fmt: skip
    return "\n\n".join(
        [
            f"Shares of the variance of mean PSNR, {len(data['policies'])} policies on "
            f"{data['new prompts']} new prompts:",
            report.table(head, shares),
            "Schedules under each policy, dB:",
            _policies(data),
            "\n".join(f"- {label(row)}: {_summary(row, data['policies'])}" for row in data["rows"]),
        ]
    )


def _policies(data: dict) -> str:
    head = ["full of steps", "policy", "mean", *PAPERS, "best", "PSNR of it"]
    head += ["loses under the others, mean", "at most", f"Spearman with {REUSE}"]
    lines = []
    for r in data["rows"]:
        psnr, losses = np.array(r["psnr"]), np.array(r["losses"])
        names = list(r["schedules"])
        for n, policy in enumerate(data["policies"]):
            others = np.delete(losses[n], n)
            cells = [
                f"{psnr[names.index(name), n]:.2f}" if name in names else "" for name in PAPERS
            ]
            lines.append([
                label(r), policy, f"{psnr[:, n].mean():.2f}", *cells, r["best"][policy],
                f"{psnr[:, n].max():.2f}", f"{others.mean():.2f}", f"{others.max():.2f}",
                f"{r['spearman'][0][n]:.2f}",
            ])  # fmt: skip
    return report.table(head, lines)


def _summary(row: dict, policies: list[str]) -> str:
    apart = ~np.eye(len(policies), dtype=bool)
    spearman, losses = np.array(row["spearman"])[apart], np.array(row["losses"])[apart]
    return (
        f"{len(row['schedules'])} schedules, of which {len(set(row['best'].values()))} are best "
        f"under a policy. A policy's best one loses {np.median(losses):.2f} dB under another in "
        f"the median, {losses.max():.2f} at most; the loss is significant in {row['sure']} of "
        f"{losses.size} pairs. Spearman's correlation of two policies' rankings "
        f"{spearman.min():.2f} to {spearman.max():.2f}. Interactions on both halves of the prompts "
        f"correlate at {row['halves']:.3f}."
    )


def draw(data: dict, figure) -> None:
    panels = figure.subplots(1, len(data["rows"]), squeeze=False)[0]
    for axes, row in zip(panels, data["rows"], strict=True):
        named = iter(zip(report.COLORS, "os^Dv", strict=False))
        for name, psnr in zip(row["schedules"], row["psnr"], strict=True):
            if name.startswith("random"):
                first = "random" if name == "random 1" else None
                axes.plot(psnr, "-", color=report.GRAY, linewidth=1, label=first)
            else:
                color, marker = next(named)
                axes.plot(psnr, marker=marker, color=color, label=name)
        axes.set_xticks(range(len(data["policies"])), data["policies"], rotation=40, ha="right")
        axes.set_title(f"{label(row)} full", fontsize=10)
    panels[0].set_ylabel("mean PSNR, dB")
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside right upper")
