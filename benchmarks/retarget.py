"""Quality of paths that each rule of ``gph_core.paths.retarget`` carries over to other grids.

The demo model's own paths at 50 steps (``_search``) are retargeted to fewer steps and other
schedulers. Every rule's schedule is sampled for prompts that neither training nor search saw and
compared with the full run on the same grid. What decides is the gain over uniform spacing, paired
by prompt; *fewer steps* is as many plain steps of the same scheduler. It takes about 20 minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from benchmarks import _demo, _search
from demo.comfyui import load_pack, use_comfyui
from gph_core.paths.retarget import DEFAULT_RULE, PROPOSALS, retarget
from gph_core.schedule import Schedule, uniform

RESULTS = Path(__file__).parent / "results"
SCHEDULERS = ("simple", "beta", "linear_quadratic")
STEPS = (12, 20, 28, 40)
PROMPTS, CAPTION_SEED, NOISE_SEED = 64, 2, 1000
BASELINE, FEWER = "uniform", "fewer steps"
COLUMNS = (*PROPOSALS, FEWER)

Scores = dict[str, np.ndarray]  # dB of every prompt, by rule


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench retarget", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if another rule is better"
    )
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--search", action="store_true", help="search the demo model's paths again")
    options = parser.parse_args()
    use_comfyui("--cpu")
    torch.set_num_threads(1)
    load_pack()
    if options.search:
        _search.search()
    found = json.loads(_search.FILE.read_text("utf-8"))["paths"]
    paths = [Schedule.parse(path["schedule"]) for path in found]
    pictures = _demo.Pictures(_demo.captions(PROMPTS, CAPTION_SEED, held_out=True), NOISE_SEED)
    at_source = on_own_grid(pictures, paths)
    rows = list(on_other_grids(pictures, paths))
    summary = {
        "all": gains(rows),
        **{f"{n} steps": gains([r for r in rows if r.steps == n]) for n in STEPS},
        **{name: gains([r for r in rows if r.scheduler == name]) for name in SCHEDULERS},
        **{f"from {path.num_full}": gains([r for r in rows if r.path == path]) for path in paths},
    }
    print("\n" + table(summary))
    best = max(PROPOSALS, key=lambda rule: summary["all"][rule][0])
    ahead, half = lead(rows, best)
    print(f"\nbest: {best}, {ahead:+.2f} ± {half:.2f} ahead of the default, {DEFAULT_RULE}")
    if options.save:
        cells = [row.figures() for row in rows]
        save({"own grid": at_source, "gains": [summary], "cells": cells})
    return int(options.check and ahead > half)


def save(figures: dict[str, list]) -> None:
    """Write figures with their conditions, one line an item."""
    from comfyui_version import __version__

    conditions = {
        "model": "demo model", "prompts": f"{PROMPTS} held out of training and search",
        "sampling": f"{_demo.SAMPLER}, CFG {_demo.CFG:g}", "policy": "residual reuse",
        "unit": "PSNR in dB to the full run on the same grid; gains are to uniform, paired by "
        "prompt; each with half of its 95 % interval (t)",
        "torch": torch.__version__, "comfyui": __version__,
    }  # fmt: skip
    parts = (
        f'"{name}": [\n' + ",\n".join(map(json.dumps, items)) + "\n]"
        for name, items in ({"conditions": [conditions]} | figures).items()
    )
    (RESULTS / "retarget.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


class PathRow:
    """One path on one grid."""

    def __init__(self, scheduler: str, path: Schedule, schedules: dict[str, Schedule], scores):
        self.scheduler, self.path, self.schedules, self.scores = scheduler, path, schedules, scores
        self.steps = schedules[BASELINE].num_steps

    def __str__(self) -> str:
        means = ", ".join(f"{name} {values.mean():.2f}" for name, values in self.scores.items())
        full = self.schedules[BASELINE].num_full
        return f"{self.scheduler}, {full} of {self.steps} (from {self.path.num_full}): {means}"

    def figures(self) -> dict:
        return {
            "scheduler": self.scheduler, "steps": self.steps, "path": str(self.path),
            "schedules": {rule: str(schedule) for rule, schedule in self.schedules.items()},
            "psnr": {name: rounded(values) for name, values in self.scores.items()},
            "gain": gains([self]),
        }  # fmt: skip


def scorer(pictures: _demo.Pictures, scheduler: str, steps: int) -> Callable:
    """PSNR ``[B]`` of a schedule, or of a number of plain steps; each is sampled once."""
    reference = pictures.sample(scheduler, steps)
    known: dict[Schedule | int, np.ndarray] = {}

    def score(what: Schedule | int) -> np.ndarray:
        if what not in known:
            images = (
                pictures.sample(scheduler, what)
                if isinstance(what, int)
                else pictures.sample(scheduler, steps, what)
            )
            known[what] = _demo.psnr(images, reference)
        return known[what]

    return score


def on_own_grid(pictures: _demo.Pictures, paths: list[Schedule]) -> list[dict]:
    """Quality of the paths on the grid where they were searched, on the unseen prompts."""
    score = scorer(pictures, _search.SCHEDULER, _search.STEPS)
    figures = []
    for path in paths:
        scores = {
            "path": score(path),
            "uniform": score(uniform(path.num_steps, path.num_full)),
            "even": score(uniform(path.num_steps, path.num_full, 1)),
            FEWER: score(path.num_full),
        }
        figures.append({
            "path": str(path), "psnr": {name: rounded(values) for name, values in scores.items()},
            "gain": gained(scores),
        })  # fmt: skip
        print(f"{path}: {figures[-1]['psnr']}, gains {figures[-1]['gain']}", flush=True)
    return figures


def on_other_grids(pictures: _demo.Pictures, paths: list[Schedule]) -> Iterator[PathRow]:
    """Every path on every grid, by every rule."""
    source = pictures.sigmas(_search.SCHEDULER, _search.STEPS)
    for scheduler, steps in itertools.product(SCHEDULERS, STEPS):
        target = pictures.sigmas(scheduler, steps)
        score = scorer(pictures, scheduler, steps)
        for path in paths:
            schedules = {rule: retarget(path, source, target, rule) for rule in PROPOSALS}
            scores = {rule: score(schedule) for rule, schedule in schedules.items()}
            scores[FEWER] = score(schedules[BASELINE].num_full)
            row = PathRow(scheduler, path, schedules, scores)
            print(row, flush=True)
            yield row


def gains(rows: list[PathRow]) -> dict[str, tuple[float, float]]:
    """Mean gain over uniform, of the prompts' means over some rows."""
    return gained({name: np.mean([row.scores[name] for row in rows], axis=0) for name in COLUMNS})


def lead(rows: list[PathRow], rule: str) -> tuple[float, float]:
    """Lead of a rule over the default, paired by prompt, with half its interval."""
    ahead = [row.scores[rule] - row.scores[DEFAULT_RULE] for row in rows]
    return rounded(np.mean(ahead, axis=0))


def gained(scores: Scores) -> dict[str, tuple[float, float]]:
    """Mean gain over uniform, paired by prompt."""
    baseline = scores[BASELINE]
    return {n: (0.0, 0.0) if n == BASELINE else rounded(v - baseline) for n, v in scores.items()}


def rounded(values: np.ndarray) -> tuple[float, float]:
    mean, half = _demo.interval(values)
    return round(float(mean), 2), round(float(half), 2)


def table(summary: dict[str, dict[str, tuple[float, float]]]) -> str:
    """Gains over uniform as markdown."""
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---|" + "---|" * len(COLUMNS)]
    for name, figures in summary.items():
        cells = (f"{figures[rule][0]:+.2f} ± {figures[rule][1]:.2f}" for rule in COLUMNS)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
