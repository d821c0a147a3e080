"""Traits that full runs share on their way from noise to image, and traits that they do not.

Each prompt is sampled from three noises, and each noise is that of three prompts, so that pairs of
runs share one of both, or neither.

Source: GPH paper, section *Common Patterns in Full-Compute Denoising*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from golden_path_pack.gph_core.analysis.planes import angles_between, bases
from golden_path_pack.gph_core.analysis.profiles import profile_of, signal_to_floor, spreads
from golden_path_pack.gph_core.files.strict_json import finite
from golden_path_pack.gph_core.reports.trajectory.figure import draw as draw_profile
from golden_path_pack.gph_core.reports.trajectory.report import grouped
from golden_path_pack.nodes.sample.sampler_variants import reporting_states
from torch import Tensor

from benchmarks.lab import demo, report
from benchmarks.study.work import Work

TITLE = "What full runs have in common"
STEPS, QUICK_STEPS = 50, 12
PROMPTS, QUICK_PROMPTS = 64, 4
NOISES = 3  # of each prompt, and prompts of each noise
LOW = 5  # percent; a coefficient of variation below it is called low
CURVES = 3  # that are drawn
PRECISION = "float32"  # of the states
# What there is of each step or state, with its name in words.
PROFILES = {
    "displacement": "displacement of a step / chord",
    "off_chord": "off-chord distance / chord",
    "norm": "state norm",
    "turning": "turning angle, degrees",
}


def measure(work: Work) -> dict:
    lab = work.lab(work.size(STEPS, QUICK_STEPS))
    workload = crossed(lab.unseen, work.size(PROMPTS, QUICK_PROMPTS))
    runs = list(states(workload))
    profiles = [profile_of([run]) for run in runs]
    planes = bases([[run] for run in runs], [profile.plane for profile in profiles])
    together, first = spreads(profiles), profiles[0]
    spread_of = {name: spread.to_dict() for name, spread in together.items()}
    drawn = [(workload.examples[n], profiles[n]) for n in range(0, CURVES * NOISES, NOISES)]
    return {
        "unit": "over runs; cv: coefficient of variation, percent; angles: degrees",
        "steps": lab.steps, "number of runs": len(runs), "window": first.window,
        "precision": PRECISION, "latent_coordinates": first.num_coordinates, "summary": spread_of,
        "signal_to_floor": finite(signal_to_floor(together)),
        "plane_angles": grouped(
            workload.names(), angles_between(planes), first.num_coordinates
        ),
        "runs": [
            {"prompt": example.prompt, "seed": example.seed, "curve": profile.plane.curve.tolist()}
            for example, profile in drawn
        ],
        "rows": [
            row(title, spread_of[name], first.window if name == "turning" else 0)
            for name, title in PROFILES.items()
        ],
    }  # fmt: skip


def crossed(workload, prompts: int):
    """The first prompts of a workload, each with its own noise and those of the next two.

    Next to the last one is the first one.
    """
    own = workload.examples[:prompts]
    noises = [[own[(n + shift) % prompts].seed for shift in range(NOISES)] for n in range(prompts)]
    pairs = zip(own, noises, strict=True)
    return replace(workload, examples=[replace(e, seed=s) for e, seeds in pairs for s in seeds])


def states(workload) -> Iterator[Tensor]:
    """States of a full run of each example, ``[N + 1, C, H, W]``."""
    for first in range(0, len(workload), demo.BATCH):
        sampling = workload.batch(range(len(workload))[first : first + demo.BATCH])
        found: list[Tensor] = []
        with torch.inference_mode():
            replace(sampling, sampler=reporting_states(sampling.sampler, found.append)).full()
            yield from torch.stack(found, dim=1).cpu()


def row(title: str, spread: dict, begin: int) -> dict:
    """Steps at which the median of a profile is least and most, and at which runs differ.

    Args:
        spread: ``Spread.to_dict`` of it.
        begin: number of the first state or step that it is of.
    """
    median = np.array(spread["median"])
    known = [(cv, n) for n, cv in enumerate(spread["cv"], begin) if cv is not None]
    return {
        "quantity": title, "first": median[0], "last": median[-1],
        "least": [median.min(), median.argmin() + begin],
        "most": [median.max(), median.argmax() + begin],
        "cv": np.median([cv for cv, _ in known]), "cv first": known[0], "cv most": max(known),
        "cv last": known[-1], "low": [sum(cv < LOW for cv, _ in known), len(known)],
    }  # fmt: skip


def summary(data: dict) -> str:
    head = ["median", "first", "least, at", "most, at", "last"]
    head += ["CV, %: median", "first, at", "most, at", "last, at", f"CV below {LOW} %"]
    lines = [
        [
            r["quantity"], f"{r['first']:.4g}", _at(r["least"]), _at(r["most"]),
            f"{r['last']:.4g}", f"{r['cv']:.2f}", _at(r["cv first"]), _at(r["cv most"]),
            _at(r["cv last"]), f"{r['low'][0]} of {r['low'][1]}",
        ]
        for r in data["rows"]
    ]  # fmt: skip
    found, groups = data["summary"], data["plane_angles"]
    ratios = [ratio for ratio in data["signal_to_floor"] if ratio is not None]
    one, both = (_of_runs(found[name]) for name in ("pc1", "pc1_pc2"))
    angles = (
        f"{name} {g['median']:.2f}° ({g['low']:.2f}° to {g['high']:.2f}°, {g['pairs']} pairs)"
        for name, g in groups.items()
    )
    return (
        f"{data['number of runs']} runs of {data['steps']} steps, {len(data['runs'][0]['curve'])} "
        f"states each:\n\n{report.table(head, lines)}\n\n"
        f"- Turning angles over {data['window']} steps are {min(ratios):.3g} to {max(ratios):.3g} "
        f"times those that {data['precision']} rounding alone would give.\n"
        f"- Off-chord variance along PC1: {one}; along PC1 and PC2: {both}.\n"
        f"- First angle between planes, median and middle half: {', '.join(angles)}."
    )


def _at(place: list) -> str:
    value, index = place
    return f"{value:.4g}, {index}"


def _of_runs(spread: dict) -> str:
    median, low, high = (spread[name][0] for name in ("median", "low", "high"))
    return f"median {median:.1%}, {low:.1%} to {high:.1%} in the middle half of the runs"


def draw(data: dict, figure) -> None:
    draw_profile(data, figure)
