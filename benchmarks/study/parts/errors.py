"""Errors of cached steps on their way to the final latent, and what they say about schedules.

On some new prompts every single step is cached alone. On others whole schedules are taken apart,
and those that the single steps propose are compared with uniform spacing.

Source: GPH paper, section *Evaluating Schedules by Final-Output Quality* and appendix *Additional
Cache-Error Analysis*. Planning by propagation gains is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from golden_path_pack.gph_core.analysis.isolated_steps import IsolatedStep
from golden_path_pack.gph_core.analysis.propagation import Observations, transfer
from golden_path_pack.gph_core.analysis.step_sensitivity import StepSensitivity, plan_by_sensitivity
from golden_path_pack.gph_core.paths.spacings import spacing
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab import report
from benchmarks.lab.lab import Lab
from benchmarks.lab.resampling import paired_difference
from benchmarks.lab.shots import Shot
from benchmarks.study.measured_errors import isolated, shots
from benchmarks.study.taken_apart import taken_apart
from benchmarks.study.work import Work, label

TITLE = "How errors of cached steps reach the final latent"
STEPS, QUICK_STEPS = 20, 8
ALONE, QUICK_ALONE = 16, 2  # prompts with single steps cached
APART, QUICK_APART = 24, 2  # others, whose runs are taken apart
DRAWN, QUICK_DRAWN = 6, 1  # schedules near each of two others, and at random
EARLY = 5  # of so many states one is early: 10 of 50 in the source
SCORES = {
    "step_only": "step alone, -k",
    "feature_error": "feature error",
    "feature_error_x_step_size": "feature error × step size",
    "next_state_error_estimate": "next-state error, estimated",
    "propagation_gain": "propagation gain",
    "feature_error_x_gain": "feature error × gain",
}


def measure(work: Work) -> dict:
    lab = work.lab(work.size(STEPS, QUICK_STEPS))
    counts, levels = work.size(lab.counts, lab.counts[:1]), lab.unseen.sigmas.tolist()
    alone = range(work.size(ALONE, QUICK_ALONE))
    others = range(alone.stop, lab.prompts.unseen)
    scores, planned, sensitivity = [], [], {}
    for policy in (Reuse(), Hermite(2), Taylor(1)):
        found = isolated(lab, policy, alone)
        scores.append({"policy": str(policy), **scored(found, levels)})
        print(f"errors: {policy}, {scores[-1]['correlations']}", flush=True)
        sensitivity[policy] = StepSensitivity.of(found, levels, policy, {})
        for full in counts:
            if full > policy.min_anchors + 1:  # with fewer there is nothing to choose
                schedule = plan_by_sensitivity(sensitivity[policy], full).schedule
                planned.append(against_uniform(lab, schedule, policy, others))
    some, full = others[: work.size(APART, QUICK_APART)], counts[len(counts) // 2]
    return {
        "unit": "L2 norms of latents, means over prompts, of gaps medians; Spearman's "
        "correlations; dB of PSNR to the full run; ahead: paired, with the 95 % interval of a "
        "bootstrap",
        "steps": lab.steps, "full": full,
        "prompts": {"alone": len(alone), "apart": len(some), "compared": len(others)},
        "scores": scores, "planned": planned,
        **taken_apart(lab, sensitivity[Reuse()], full, work.size(DRAWN, QUICK_DRAWN), some),
    }  # fmt: skip


def scored(prompts: Sequence[Sequence[IsolatedStep]], sigmas: Sequence[float]) -> dict:
    """How well scores predict the final error of a step cached alone, under one policy."""
    found = Observations.of(prompts, sigmas)
    halves = transfer(found)
    return {
        "pairs": found.output_errors.size, "correlations": found.correlations(),
        "halves": halves.profiles, "own": list(halves.own.values()),
        "other": list(halves.other.values()), "steps": found.steps, "gains": found.gains,
        "feature errors": found.feature_errors.mean(axis=0),
        "output errors": found.output_errors.mean(axis=0),
    }  # fmt: skip


def against_uniform(lab: Lab, schedule: Schedule, policy, numbers: Sequence[int]) -> dict:
    """Quality of a planned schedule on new prompts, beside uniform spacing."""
    even = spacing(lab.steps, schedule.num_full, policy.min_anchors)
    ours, theirs = (shots(lab, one, policy, numbers) for one in (schedule, even))
    return {
        "policy": str(policy), "steps": lab.steps, "full": schedule.num_full,
        "schedule": str(schedule), "uniform": str(even), **compared(ours, theirs),
    }  # fmt: skip


def compared(ours: Sequence[Shot], theirs: Sequence[Shot]) -> dict:
    """PSNR and final error of both schedules, and their paired differences."""
    psnr, other = ([shot.psnr for shot in some] for some in (ours, theirs))
    error, more = ([math.sqrt(shot.latent_mse) for shot in some] for some in (ours, theirs))
    return {
        "psnr": np.mean((psnr, other), axis=1), "ahead": paired_difference(psnr, other),
        "rms error": np.mean((error, more), axis=1), "less error": paired_difference(more, error),
    }  # fmt: skip


def summary(data: dict) -> str:
    prompts, ranks, over = data["prompts"], data["ranks"], data["over schedules"]
    gap, early = ranks["gap and psnr"], data["steps"] // EARLY
    return "\n".join([
        f"{len(data['rows'])} schedules of {data['full']} full steps of {data['steps']} with "
        f"residual reuse on {prompts['apart']} prompts, taken apart; the state recursion holds to "
        f"{data['rounding']:.1e} of the state. Rank correlations:",
        "",
        f"- Of the final error with the sum of state contributions, over the prompts of a "
        f"schedule: {_over_prompts(data, 'state')}; with that of current contributions: "
        f"{_over_prompts(data, 'current')}.",
        f"- The same over schedules: {_number(over['state'])} and {_number(over['current'])}.",
        f"- Of mean PSNR with the median gap to the full run, over schedules: "
        f"{_number(gap[early])} at state {early}, {_number(gap[data['steps'] // 2])} at state "
        f"{data['steps'] // 2}, {_number(gap[-1])} at the end; with the mean final error "
        f"{_number(ranks['error and psnr'])}.",
        f"- Of the cost by which schedules are planned, over schedules: "
        f"{_number(ranks['cost and error'])} with the mean final error, "
        f"{_number(ranks['cost and psnr'])} with mean PSNR.",
        "",
        f"Single steps cached alone on {prompts['alone']} prompts, rank correlation of scores with "
        "the final error:",
        "",
        _scores(data["scores"]),
        "",
        f"Schedules planned by these gains beside uniform spacing, on {prompts['compared']} other "
        "prompts:",
        "",
        _planned(data["planned"]),
    ])  # fmt: skip


def _over_prompts(data: dict, kind: str) -> str:
    """The median and the range over schedules."""
    found = [row["over prompts"][kind] for row in data["rows"]]
    known = [value for value in found if value is not None]
    return f"median {np.median(known):.3f} ({min(known):.3f} to {max(known):.3f})"


def _scores(scores: Sequence[dict]) -> str:
    head = ["policy", "pairs", *SCORES.values(), "gains of both halves", "gain of the other half"]
    lines = [
        [
            s["policy"], s["pairs"], *(_number(s["correlations"][name]) for name in SCORES),
            _number(s["halves"]),
            ", ".join(
                f"{_number(other)} for {_number(own)}"
                for own, other in zip(s["own"], s["other"], strict=True)
            ),
        ]
        for s in scores
    ]  # fmt: skip
    return report.table(head, lines)


def _planned(planned: Sequence[dict]) -> str:
    head = ["policy", "full of steps", "planned schedule", "PSNR, dB", "uniform", "ahead"]
    head += ["final error, RMS", "uniform", "less by"]
    lines = [
        [
            r["policy"], label(r), r["schedule"], *(f"{value:.2f}" for value in r["psnr"]),
            report.gain(r["ahead"]), *(f"{value:.3f}" for value in r["rms error"]),
            report.gain(r["less error"], 3),
        ]
        for r in planned
    ]  # fmt: skip
    return report.table(head, lines)


def _number(correlation: float | None) -> str:
    return "not defined" if correlation is None else f"{correlation:.3f}"


def draw(data: dict, figure) -> None:
    figure.set_size_inches(report.WIDTH, 7.5)
    sums, gap, gains, scores = figure.subplots(2, 2).flat
    for kind, marker, color in (("state", "o", 0), ("current", "^", 1)):
        found = [[row[kind], row["output error"]] for row in data["rows"]]
        sums.plot(*np.array(found).T, marker, color=report.COLORS[color], label=kind)
    sums.set(xlabel="sum of contributions over the run", ylabel="final error")
    sums.set_title("a point per schedule, means over prompts", fontsize=10)
    sums.legend(fontsize=8)
    gap.plot(
        np.array(data["ranks"]["gap and psnr"], float), "o-", color=report.COLORS[0], markersize=4
    )
    gap.set(xlabel="state", ylabel="rank correlation", ylim=(-1.05, 1.05))
    gap.axhline(0, color=report.GRAY, linewidth=1)
    gap.set_title("gap at a state and mean PSNR", fontsize=10)
    for number, (score, marker) in enumerate(zip(data["scores"], "os^", strict=True)):
        style = {"color": report.COLORS[number], "label": score["policy"]}
        gains.plot(score["steps"], score["gains"], f"{marker}-", markersize=4, **style)
        found = np.array([score["correlations"][name] for name in SCORES], float)
        scores.plot(found, np.arange(len(SCORES)) + 0.2 * (number - 1), marker, **style)
    gains.set(xlabel="step cached alone", ylabel="final error per feature error", ylim=(0, None))
    gains.set_title("propagation gain", fontsize=10)
    gains.legend(fontsize=8)
    scores.set_yticks(range(len(SCORES)), SCORES.values(), fontsize=8)
    scores.invert_yaxis()
    scores.axvline(0, color=report.GRAY, linewidth=1)
    scores.set(xlabel="rank correlation with the final error", xlim=(-1.05, 1.05))
    scores.set_title("scores of a step", fontsize=10)
