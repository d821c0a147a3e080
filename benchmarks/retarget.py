"""Quality of the schedules that a run can take where no path was searched for it.

*Golden Path Cache* spaces full steps by noise level there (``gph_core.paths.noise_spacing``). The
rule is compared with uniform spacing (the published rule, and in proportion), even spacing, and the
demo model's own path, searched at 50 steps (``_search``), moved by ``gph_core.paths.retarget``.
Every schedule is sampled for prompts that neither training nor the choice of the rule saw, and
compared with the full run of the same setting; *fewer steps* is as many plain steps. Settings cover
schedulers, steps, parts of the noise (denoise), samplers and CFG sparsely. It takes about 15
minutes. ``-- --model video`` asks the video model.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import _demo, _results, _search
from benchmarks._subjects import SUBJECTS, add_option
from gph_core.paths.choice import spacing
from gph_core.paths.retarget import num_full, retarget
from gph_core.paths.spacings import noise_spacing
from gph_core.schedule import Schedule, uniform

RESULTS = Path(__file__).parent / "results"
SCHEDULERS = ("simple", "beta", "linear_quadratic")
STEPS = (12, 20, 28, 40)
SAMPLERS = ("euler", "dpmpp_2m", "res_multistep", "uni_pc")
CFGS = (1.0, 3.0, 5.0)
DENOISES = (0.3, 0.5, 0.7)
PART_STEPS = (24, 50)  # of img2img, all below the level where it begins
SPEEDS = (21, 13, 9)  # full steps of 50
PROMPTS, SEED = 32, 502  # of captions, and a thousandth of the noise seeds
BAR = 0.3  # dB that the rule may be behind the best other one
RULE, MOVED, FEWER = "by noise level", "moved", "fewer steps"
OTHERS = ("uniform", "in proportion", "even", MOVED)
COLUMNS = (RULE, *OTHERS, FEWER)

Scores = dict[str, np.ndarray]  # dB of every prompt, by rule


class Setting(NamedTuple):
    """How pictures are sampled, and the speed: full steps of 50."""

    sampler: str
    scheduler: str
    steps: int
    denoise: float
    cfg: float
    speed: int

    @property
    def grid(self) -> tuple[str, int]:
        return self.scheduler, self.steps

    @property
    def how(self) -> _demo.How:
        return _demo.How(self.sampler, self.denoise, self.cfg)

    def __str__(self) -> str:
        part = "" if self.denoise == 1 else f", denoise {self.denoise:g}"
        return f"{self.sampler}, {self.scheduler}, CFG {self.cfg:g}{part}, {self.steps} steps"


def settings() -> list[Setting]:
    """A sparse cover of the grid: each value meets each of the other kinds at least once."""
    found = []
    for i, (scheduler, steps) in enumerate(itertools.product(SCHEDULERS, STEPS)):
        for j in (i, i + 1):  # two of three CFGs
            sampler = SAMPLERS[(i + i // 4 + 2 * (j - i)) % 4]
            speed = SPEEDS[(i // 4 + i + j) % 3]
            found.append(Setting(sampler, scheduler, steps, 1.0, CFGS[j % 3], speed))
    found += [
        Setting(sampler, "beta", 50, 1.0, cfg, SPEEDS[n])
        for sampler in ("euler", "uni_pc")
        for n, cfg in enumerate(CFGS)
    ]
    for i, (denoise, cfg) in enumerate(itertools.product(DENOISES, CFGS)):
        speed = SPEEDS[(i + i // 3) % 3]
        found.append(
            Setting(SAMPLERS[i % 4], SCHEDULERS[i % 2], PART_STEPS[i % 2], denoise, cfg, speed)
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench retarget", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if the rule is behind for certain"
    )
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--search", action="store_true", help="search the model's paths again")
    add_option(parser)
    options = parser.parse_args()
    _demo.begin()
    if options.search:
        _search.search(options.model)
    rows = list(measured(settings(), options.model))
    summary = {
        "all": gains(rows),
        **{f"CFG {cfg:g}": gains([r for r in rows if r.setting.cfg == cfg]) for cfg in CFGS},
        **{name: gains([r for r in rows if r.setting.scheduler == name]) for name in SCHEDULERS},
        **{name: gains([r for r in rows if r.setting.sampler == name]) for name in SAMPLERS},
        "denoise below 1": gains([r for r in rows if r.setting.denoise < 1]),
    }
    print("\n" + table(summary))
    behind = [row for row in rows if row.lead()[0] < -BAR]
    certain = [row for row in behind if sum(row.lead()) < -BAR]
    print(f"\nmore than {BAR} dB behind the best other: {len(behind)} of {len(rows)}, for certain "
          f"(by the 95 % interval): {len(certain)}")  # fmt: skip
    print("\n".join(f"- {row}" for row in behind))
    if options.save:
        save(options.model, {"gains": [summary], "settings": [row.figures() for row in rows]})
    return int(options.check and bool(certain))


def save(subject: str, figures: dict[str, list]) -> None:
    """Write figures with their conditions."""
    conditions = {
        "model": SUBJECTS[subject].name,
        "prompts": f"{PROMPTS} that neither training nor search saw",
        "policy": "residual reuse",
        "unit": "PSNR in dB to the full run of the same setting; lead: of the rule over the best "
        "of the others; gains: over uniform; paired by prompt, with half of a 95 % interval (t)",
    }
    _results.write(SUBJECTS[subject].file(RESULTS / "retarget.json"), conditions, **figures)


class Row(NamedTuple):
    """One setting, with the schedule and the scores of every rule."""

    setting: Setting
    schedules: dict[str, Schedule]
    scores: Scores

    @property
    def best_other(self) -> str:
        return max(OTHERS, key=lambda name: self.scores[name].mean())

    def lead(self) -> tuple[float, float]:
        """Lead of the rule over the best other one, with half its interval."""
        return rounded(self.scores[RULE] - self.scores[self.best_other])

    def __str__(self) -> str:
        lead, half = self.lead()
        means = ", ".join(f"{name} {values.mean():.2f}" for name, values in self.scores.items())
        full = self.schedules[RULE].num_full
        return f"{self.setting}, {full} full: {lead:+.2f} ± {half:.2f} ({self.best_other}); {means}"

    def figures(self) -> dict:
        return {
            **self.setting._asdict(), "lead": self.lead(), "best other": self.best_other,
            "schedules": {rule: str(schedule) for rule, schedule in self.schedules.items()},
            "psnr": {name: rounded(values) for name, values in self.scores.items()},
        }  # fmt: skip


def measured(wanted: list[Setting], subject: str) -> Iterator[Row]:
    """Scores of every rule under some settings."""
    paths, prompts = _search.load(subject), SUBJECTS[subject].captions(PROMPTS, SEED, held_out=True)
    pictures = _demo.Pictures(prompts, 1000 * SEED, subject)
    # The model's noise level in the middle of its own schedule, as a run has it.
    halfway = float(pictures.model.get_model_object("model_sampling").percent_to_sigma(0.5))
    source = pictures.sigmas(_search.SCHEDULER, _search.STEPS)
    for setting in wanted:
        levels = pictures.sigmas(*setting.grid, setting.how)
        schedules = schedules_of(setting, levels, halfway, paths[setting.speed], source)
        row = Row(setting, schedules, scored(pictures, setting, schedules))
        print(row, flush=True)
        yield row


def scored(pictures: _demo.Pictures, setting: Setting, schedules: dict[str, Schedule]) -> Scores:
    """PSNR of every rule, equal schedules sampled once, and of as many plain steps."""
    (scheduler, steps), how = setting.grid, setting.how
    reference = pictures.sample(scheduler, steps, how=how)
    known = {
        schedule: _demo.psnr(pictures.sample(scheduler, steps, schedule, how=how), reference)
        for schedule in dict.fromkeys(schedules.values())
    }
    fewer = pictures.sample(scheduler, schedules[RULE].num_full, how=how)
    scores = {rule: known[schedule] for rule, schedule in schedules.items()}
    return {**scores, FEWER: _demo.psnr(fewer, reference)}


def schedules_of(
    setting: Setting, sigmas: list[float], halfway: float, path: Schedule, source: list[float]
) -> dict[str, Schedule]:
    """The schedule of each rule; a moved path may have another number of full steps."""
    steps = len(sigmas) - 1
    full = num_full(steps, setting.speed, 50)
    return {
        RULE: noise_spacing(sigmas, full, halfway, setting.cfg != 1),
        "uniform": uniform(steps, full),
        "in proportion": spacing(steps, full),
        "even": uniform(steps, full, 1),
        MOVED: retarget(path, source, sigmas),
    }


def gains(rows: list[Row]) -> dict[str, tuple[float, float]]:
    """Mean gain over uniform, of the prompts' means over some rows."""
    return gained({name: np.mean([row.scores[name] for row in rows], axis=0) for name in COLUMNS})


def gained(scores: Scores) -> dict[str, tuple[float, float]]:
    """Mean gain over uniform, paired by prompt."""
    base = scores["uniform"]
    return {n: (0.0, 0.0) if n == "uniform" else rounded(v - base) for n, v in scores.items()}


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
