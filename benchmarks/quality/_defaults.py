"""What a speed does where no path fits, against residual reuse and plain steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from golden_path_pack.gph_core.paths.conditions import Choice
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.quality.verdict import HARDLY_VISIBLE
from golden_path_pack.gph_core.run_plan import RunPlan, by_count

from benchmarks.lab import report
from benchmarks.lab.results import interval, seen
from benchmarks.lab.subjects import IMAGE, MODELS, STUDENT, VIDEO
from benchmarks.quality._pictures import How, Pictures
from benchmarks.quality._rules import DENOISES, SAMPLERS, SCHEDULERS

CFGS = {IMAGE: (1.0, 2.0, 3.5, 5.0), VIDEO: (1.0, 3.0, 5.0), STUDENT: (1.0,)}
COUNTS = ((20, 8), (20, 5), (28, 7), (50, 13), (50, 9))  # steps, and how many are full
PART_COUNTS = ((24, 6), (50, 13))  # of img2img, all below the level where it begins
PROMPTS = {IMAGE: 100, VIDEO: 50, STUDENT: 100}
SEED = 505  # of captions, and a thousandth of the noise seeds
GOOD = HARDLY_VISIBLE  # dB
MOST_BEHIND, MOST_LESS_OFTEN = 0.3, 0.02  # dB behind residual reuse, share below ``GOOD``
# Least mean gain over residual reuse in dB, over 8 and 5 of 20 and 13 of 50, by CFG.
LEAST_GAIN = {
    IMAGE: {1.0: 4.0, 2.0: 4.0, 3.5: 2.0, 5.0: 0.0}, VIDEO: {1.0: 8.0, 3.0: 5.0, 5.0: 2.0},
    STUDENT: {},
}  # fmt: skip
GAIN_COUNTS = ((20, 8), (20, 5), (50, 13))
DEFAULT, REUSED, FEWER = "default", "residual reuse", "plain steps"
Scores = dict[str, np.ndarray]  # dB of every prompt, by way


class Setting(NamedTuple):
    """How pictures are sampled."""

    sampler: str
    scheduler: str
    denoise: float
    cfg: float
    steps: int
    full: int

    @property
    def how(self) -> How:
        return How(self.sampler, self.denoise, self.cfg)

    @property
    def is_plain(self) -> bool:
        """Whether it is euler on the simple scheduler, from noise."""
        return self[:3] == ("euler", "simple", 1.0)

    def __str__(self) -> str:
        part = "" if self.denoise == 1 else f", denoise {self.denoise:g}"
        return (
            f"{self.sampler}, {self.scheduler}, CFG {self.cfg:g}{part}, {self.full} of {self.steps}"
        )


def settings(subject: str) -> list[Setting]:
    """All CFGs and counts with euler, then other samplers, schedulers and img2img sparsely."""
    cfgs = CFGS[subject]
    found = [Setting("euler", "simple", 1.0, cfg, *count) for cfg in cfgs for count in COUNTS]
    found += [
        Setting(sampler, "simple", 1.0, cfg, *count_of(i + j))
        for i, (sampler, cfg) in enumerate(pairs(SAMPLERS[1:], cfgs))
        for j in ((0,) if subject == VIDEO else (0, 1))
    ]
    found += [
        Setting(SAMPLERS[i % 4], scheduler, 1.0, cfg, *count_of(i))
        for i, (scheduler, cfg) in enumerate(pairs(SCHEDULERS[1:], cfgs))
    ]
    found += [
        Setting(SAMPLERS[i % 4], SCHEDULERS[i % 2], denoise, cfg, *count_of(i, PART_COUNTS))
        for i, (denoise, cfg) in enumerate(itertools.product(DENOISES, cfgs))
    ]
    return found


def pairs(names: Sequence[str], cfgs: Sequence[float]) -> list[tuple[str, float]]:
    """Each name with each CFG."""
    return [(name, cfg) for name in names for cfg in cfgs]


def count_of(number: int, counts: Sequence[tuple[int, int]] = COUNTS) -> tuple[int, int]:
    """One of the counts by turns."""
    return counts[number % len(counts)]


def figures(setting: Setting, choice: Choice, scores: Scores) -> dict:
    """Row of a setting: what was chosen, the scores of every way, and the lead of the default."""
    ways = {name: {"psnr": interval(values, 2), **seen(values)} for name, values in scores.items()}
    return {
        **setting._asdict(), "schedule": str(choice.schedule), "policy": str(choice.policy),
        "ways": ways,
        "ahead": {name: interval(scores[DEFAULT] - scores[name], 2) for name in (REUSED, FEWER)},
    }  # fmt: skip


def conditions(subject: str) -> str:
    """How the rows of a model were measured."""
    return (
        f"{PROMPTS[subject]} prompts that training did not see; ways: PSNR, which a tenth do not "
        f"exceed (worst tenth), share of at least {GOOD:g} dB; ahead: of the default over residual "
        "reuse and plain steps"
    )


def measured(wanted: Iterable[Setting], subject: str, count: int = 0) -> Iterator[dict]:
    """Scores of the three ways under some settings.

    Args:
        count: of prompts; 0: as many as the benchmark takes.
    """
    prompts = MODELS[subject].captions(count or PROMPTS[subject], SEED, held_out=True)
    pictures = Pictures(prompts, 1000 * SEED, subject)
    references = {}
    for setting in wanted:
        grid = setting.scheduler, setting.steps
        run = grid, setting.how
        if run not in references:
            references[run] = pictures.sample(*grid, how=setting.how)
        reference = references[run]
        plan, others = plans(setting.full)
        scores = {
            DEFAULT: pictures.psnr(reference, *grid, plan, how=setting.how),
            REUSED: pictures.psnr(reference, *grid, others, how=setting.how),
            FEWER: pictures.psnr(reference, setting.scheduler, setting.full, how=setting.how),
        }
        choice = pictures.choice(plan, *grid, setting.how)
        row = figures(setting, choice, scores)
        print(line(row), flush=True)
        yield row


def plans(full: int) -> tuple[RunPlan, RunPlan]:
    """What a speed with so many full steps does without a path; the same with residual reuse."""
    return by_count(full, None, ()), by_count(full, Reuse(), ())


def line(row: dict) -> str:
    """A setting, and how far the default is ahead of the others."""
    ways = ", ".join(
        f"{name} {way['psnr'][0]:.1f} / {way['worst tenth']:.1f} / {way['good']:.0%}"
        for name, way in row["ways"].items()
    )
    ahead = ", ".join(f"{report.within(lead)} ({name})" for name, lead in row["ahead"].items())
    return f"- {setting_of(row)}: {ahead}; {ways}; {row['policy']}"


def setting_of(row: dict) -> Setting:
    """The setting of a row."""
    return Setting(*(row[name] for name in Setting._fields))


def mean_gains(rows: Sequence[dict], subject: str) -> list[dict]:
    """Mean gain over residual reuse by CFG, over the counts of the bar, and the bar."""
    gains: dict[float, list[float]] = {}
    for row in rows:
        setting = setting_of(row)
        if setting.is_plain and setting[-2:] in GAIN_COUNTS:
            gains.setdefault(setting.cfg, []).append(row["ahead"][REUSED][0])
    return [
        {
            "cfg": cfg, "gain": round(float(np.mean(values)), 2),
            "least": LEAST_GAIN[subject].get(cfg),
        }
        for cfg, values in gains.items()
    ]  # fmt: skip


def summary(gains: Sequence[dict], rows: Sequence[dict]) -> str:
    """Mean gains, then all settings."""
    head = ["CFG", "mean gain over residual reuse, dB", "bar"]
    table = report.table(head, [(one["cfg"], one["gain"], one["least"] or "") for one in gains])
    return "\n".join([table, "", *map(line, rows)])


def misses(gains: Sequence[dict], rows: Sequence[dict]) -> list[str]:
    """Bars that are missed."""
    found = [
        f"mean gain at CFG {one['cfg']:g}: {one['gain']:+.2f} dB, at least {one['least']:g} wanted"
        for one in gains
        if one["least"] is not None and one["gain"] < one["least"]
    ]
    for row in rows:
        (gain, _), (lead, half) = row["ahead"][REUSED], row["ahead"][FEWER]
        good = row["ways"][DEFAULT]["good"] - row["ways"][REUSED]["good"]
        if lead + half < 0 or gain < -MOST_BEHIND or good < -MOST_LESS_OFTEN - 1e-9:
            found.append(line(row))
    return found
