"""Schedules that a run can take with residual reuse where no path was searched for it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from golden_path_pack.gph_core.paths.grids import MIN_FULL, half_up
from golden_path_pack.gph_core.paths.retarget import retarget
from golden_path_pack.gph_core.paths.spacings import noise_spacing, spacing
from golden_path_pack.gph_core.schedule import Schedule, uniform

from benchmarks.lab import demo, golden_paths, report
from benchmarks.lab.results import interval
from benchmarks.lab.subjects import SUBJECTS
from benchmarks.quality._pictures import How, Pictures, reused

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

CONDITIONS = (
    f"{PROMPTS} prompts that neither training nor search saw, residual reuse; lead: of the rule "
    "over the best of the others; gains: over uniform"
)

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
    def how(self) -> How:
        return How(self.sampler, self.denoise, self.cfg)

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


def measure(subject: str) -> dict:
    """Gains by group, and the rows of all settings."""
    rows = list(measured(settings(), subject))
    groups = {
        "all": rows,
        **{f"CFG {cfg:g}": [r for r in rows if r.setting.cfg == cfg] for cfg in CFGS},
        **{name: [r for r in rows if r.setting.scheduler == name] for name in SCHEDULERS},
        **{name: [r for r in rows if r.setting.sampler == name] for name in SAMPLERS},
        "denoise below 1": [r for r in rows if r.setting.denoise < 1],
    }
    summed = {name: gains(some) for name, some in groups.items()}
    return {"gains": [summed], "settings": [row.figures() for row in rows]}


def summary(figures: dict) -> str:
    """Gains over uniform, then the settings in which the rule is behind."""
    lines = [
        [name, *(report.within(gain[rule]) for rule in COLUMNS)]
        for name, gain in figures["gains"][0].items()
    ]
    behind = [row for row in figures["settings"] if row["lead"][0] < -BAR]
    head = f"more than {BAR} dB behind the best other: {len(behind)} of {len(figures['settings'])}"
    return "\n".join([report.table(["", *COLUMNS], lines), "", head, *map(title, behind)])


def misses(figures: dict) -> list[str]:
    """Settings in which the rule is behind by the whole 95 % interval."""
    return [title(row) for row in figures["settings"] if sum(row["lead"]) < -BAR]


def title(row: dict) -> str:
    """A setting and how far the rule is ahead of the best other one."""
    setting = Setting(*(row[name] for name in Setting._fields))
    return f"- {setting}: {report.within(row['lead'])} ({row['best other']})"


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
        return interval(self.scores[RULE] - self.scores[self.best_other], 2)

    def __str__(self) -> str:
        lead, half = self.lead()
        means = ", ".join(f"{name} {values.mean():.2f}" for name, values in self.scores.items())
        full = self.schedules[RULE].num_full
        return f"{self.setting}, {full} full: {lead:+.2f} ± {half:.2f} ({self.best_other}); {means}"

    def figures(self) -> dict:
        return {
            **self.setting._asdict(), "lead": self.lead(), "best other": self.best_other,
            "schedules": {rule: str(schedule) for rule, schedule in self.schedules.items()},
            "psnr": {name: interval(values, 2) for name, values in self.scores.items()},
        }  # fmt: skip


def measured(wanted: list[Setting], subject: str) -> Iterator[Row]:
    """Scores of every rule under some settings."""
    paths = golden_paths.schedules(subject)
    prompts = SUBJECTS[subject].captions(PROMPTS, SEED, held_out=True)
    pictures = Pictures(prompts, 1000 * SEED, subject)
    # The model's noise level in the middle of its own schedule, as a run has it.
    halfway = float(pictures.model.get_model_object("model_sampling").percent_to_sigma(0.5))
    source = pictures.sigmas(demo.SCHEDULER, golden_paths.STEPS)
    for setting in wanted:
        levels = pictures.sigmas(*setting.grid, setting.how)
        schedules = schedules_of(setting, levels, halfway, paths[setting.speed], source)
        row = Row(setting, schedules, scored(pictures, setting, schedules))
        print(row, flush=True)
        yield row


def scored(pictures: Pictures, setting: Setting, schedules: dict[str, Schedule]) -> Scores:
    """PSNR of every rule, equal schedules sampled once, and of as many plain steps."""
    (scheduler, steps), how = setting.grid, setting.how
    reference = pictures.sample(scheduler, steps, how=how)
    known = {
        schedule: pictures.psnr(reference, scheduler, steps, reused(schedule), how=how)
        for schedule in dict.fromkeys(schedules.values())
    }
    fewer = pictures.psnr(reference, scheduler, schedules[RULE].num_full, how=how)
    scores = {rule: known[schedule] for rule, schedule in schedules.items()}
    return {**scores, FEWER: fewer}


def schedules_of(
    setting: Setting, sigmas: list[float], halfway: float, path: Schedule, source: list[float]
) -> dict[str, Schedule]:
    """The schedule of each rule; a moved path may have another number of full steps."""
    steps = len(sigmas) - 1
    full = max(MIN_FULL, half_up(steps * setting.speed / 50))
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
    return {n: (0.0, 0.0) if n == "uniform" else interval(v - base, 2) for n, v in scores.items()}
