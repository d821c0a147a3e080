"""Quality of a demo model's searched golden paths on prompts that no search saw.

The searched pairs of schedule and policy (``lab.golden_paths``) are compared with baselines of as
many full steps, on 100 held-out prompts with three noises each. Every picture is compared with the
full run of its prompt and noise. Gains are paired by prompt; their 95 % intervals are bootstrapped
over the prompts. *Plain steps* is a run of just as many steps; *random* draws a schedule for every
8 pictures; *published, moved* is the path of FLUX.1-dev, or of Wan 2.1, on the demo model's noise
levels. Policies that no search delivered are compared on the first noise alone.

It takes two to three hours of one core; what was sampled is kept in ``.dev/``, so it may be
stopped. ``-- --search`` searches the paths again; ``-- --model video`` takes the video model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from golden_path_pack.gph_core.paths.retarget import retarget
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace, uniform
from matplotlib.figure import Figure

from benchmarks.lab import demo, golden_paths, report
from benchmarks.lab.golden_paths import FORCED, MEMORY, PAPERS, STEPS, SearchedPaths
from benchmarks.lab.lab import Lab, Prompts
from benchmarks.lab.resampling import RESAMPLES, bootstrapped
from benchmarks.lab.shots import Shots, Way
from benchmarks.lab.subjects import SUBJECTS, add_option
from benchmarks.lab.ways import PLAIN, UNIFORM, fixed, plain_steps

FILE = "golden-path.json"
BAR = 0.5  # dB ahead of uniform spacing and of plain steps
PROMPTS, CAPTION_SEED = Prompts(), 3
CHUNK = 8  # prompts that share a random schedule
NOISES = (10_000, 20_000, 30_000)  # seed of the first prompt's noise
RANDOM, MOVED, NO_POLICY = "random", "published, moved", "none"
BASELINES = (UNIFORM, PLAIN, RANDOM, MOVED)


@dataclass(frozen=True)
class NoiseLab(Lab):
    """The held-out prompts, the i-th from the noise of ``noise + i``."""

    noise: int = 0

    def __str__(self) -> str:
        return f"{super().__str__()}, noise {self.noise}"

    @cached_property
    def unseen(self):
        work = self.workload(self.prompts.unseen, CAPTION_SEED, held_out=True)
        numbered = enumerate(work.examples, self.noise)
        return replace(work, examples=[replace(e, seed=seed) for seed, e in numbered])


@dataclass(frozen=True)
class ScoredWay:
    """A way of sampling with some full steps."""

    num_full: int
    name: str
    policy: str


Scores = dict[ScoredWay, np.ndarray]  # dB [P, S] of prompts and noises


def add_options(parser) -> None:
    parser.add_argument("--search", action="store_true", help="search the paths again")
    add_option(parser)


def measure(options) -> dict:
    if options.search:
        golden_paths.search(options.model)
    found = golden_paths.load(options.model)
    if not found:
        raise SystemExit(f"no paths were searched for the {options.model} model; add --search")
    return {"rows": rows_of(sample(found, options.model), found)}


def sample(found: list[SearchedPaths], subject: str) -> Scores:
    """dB of every way on every picture."""
    columns: dict[ScoredWay, list[list[float]]] = {}
    for noise in NOISES:
        lab = NoiseLab(
            STEPS, demo.CFG, prompts=PROMPTS, memory=MEMORY, subject=subject, noise=noise
        )
        shots = Shots(lab)
        for scored, way_from in dict(ways(found, subject, noise)).items():
            decibels = []
            for first in range(0, PROMPTS.unseen, CHUNK):
                some = range(first, min(first + CHUNK, PROMPTS.unseen))
                decibels += [shot.psnr for shot in shots.of(way_from(first), some)]
            columns.setdefault(scored, []).append(decibels)
            print(f"noise {noise}, {scored}: {np.mean(decibels):.2f} dB", flush=True)
    return {way: np.array(noises).T for way, noises in columns.items()}


def ways(
    found: list[SearchedPaths], subject: str, noise: int
) -> Iterator[tuple[ScoredWay, Callable[[int], Way]]]:
    """Ways to sample pictures, each by the number of the first prompt of a chunk."""
    policies, pairs = golden_paths.policies(), {(path.full, path.policy) for path in found}

    def same(schedule: Schedule, policy: str) -> Callable[[int], Way]:
        way = fixed("", schedule, policies[policy])
        return lambda first: way

    for path in found:
        full, pair = path.full, path.policy
        yield ScoredWay(full, PLAIN, NO_POLICY), lambda first, full=full: plain_steps(full)
        yield (
            ScoredWay(full, RANDOM, pair),
            lambda first, full=full, pair=pair: fixed(
                "", drawn(full, f"{first} {noise}"), policies[pair]
            ),
        )
        yield ScoredWay(full, MOVED, pair), same(moved(subject, full), pair)
        for policy, schedule in path.schedules.items():
            if (full, policy) in pairs or noise == NOISES[0]:
                yield ScoredWay(full, UNIFORM, policy), same(uniform(STEPS, full), policy)
            if policy == pair or (noise == NOISES[0] and path.scoring == PAPERS):
                yield ScoredWay(full, searched(path.scoring), policy), same(schedule, policy)


def searched(scoring: int) -> str:
    """Name of the schedule that a search on some prompts found."""
    return f"searched on {scoring}"


def drawn(full: int, seed: str) -> Schedule:
    """A random schedule of the space that is searched."""
    return ScheduleSpace(STEPS, STEPS - full, FORCED).sample(random.Random(f"{full} {seed}"))


def moved(subject: str, full: int) -> Schedule:
    """The path that was published for the big model, on the noise levels of the demo model."""
    path = golden_paths.published(subject, full)
    levels = Lab(STEPS, demo.CFG, subject=subject).sigmas
    return retarget(path.schedule, path.sigmas, levels.tolist(), min_anchors=3)


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean of values ``[P]`` or ``[P, S]``, with its 95 % interval over the prompts."""
    mean, low, high = bootstrapped(values)
    return round(mean, 3), round(low, 3), round(high, 3)


def rows_of(scores: Scores, found: list[SearchedPaths]) -> list[dict]:
    """A row for each way: its mean, and how far each searched pair is ahead, with intervals."""
    schedules = {
        ScoredWay(path.full, searched(path.scoring), policy): str(schedule)
        for path in found
        for policy, schedule in path.schedules.items()
    }
    pairs = {ScoredWay(p.full, searched(p.scoring), p.policy) for p in found}
    rows = []
    for way, values in scores.items():
        ahead = {
            pair.name: interval(scores[pair][:, : values.shape[1]] - values)
            for pair in pairs
            if pair.num_full == way.num_full and pair != way
        }
        rows.append({
            "full": way.num_full, "name": way.name, "policy": way.policy,
            "schedule": schedules.get(way, ""), "is_pair": way in pairs,
            "noises": values.shape[1], "psnr": interval(values), "ahead": ahead,
        })  # fmt: skip
    return sorted(rows, key=lambda row: (-row["full"], -row["psnr"][0]))


def misses(figures: dict) -> list[str]:
    """Searched pairs that are not ahead of both baselines by the bar."""
    rows = figures["rows"]
    return [
        f"{pair['full']} full, {pair['name']}: {ahead:+.2f} dB ahead of {row['name']}"
        for pair in rows
        if pair["is_pair"]
        for row in rows
        if (row["full"], row["name"], row["policy"])
        in ((pair["full"], UNIFORM, pair["policy"]), (pair["full"], PLAIN, NO_POLICY))
        and (ahead := row["ahead"][pair["name"]][0]) < BAR
    ]


def summary(figures: dict) -> str:
    """The best of each number of full steps first."""
    rows = figures["rows"]
    pairs = sorted({name for row in rows for name in row["ahead"]})
    head = ["full", "schedule", "policy", "PSNR dB", *(f"{name} ahead" for name in pairs)]
    lines = []
    for row in rows:
        name = f"**{row['name']}**" if row["is_pair"] else row["name"]
        gains = (row["ahead"].get(pair) for pair in pairs)
        cells = [report.gain(gain) if gain else "" for gain in gains]
        lines.append([row["full"], name, row["policy"], f"{row['psnr'][0]:.2f}", *cells])
    return report.table(head, lines)


def conditions(options) -> dict:
    return {
        "model": SUBJECTS[options.model].name, "steps": STEPS,
        "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER}, CFG {demo.CFG:g}",
        "prompts": f"{PROMPTS.unseen} held out of training and search, {len(NOISES)} noises each",
        "unit": "PSNR in dB of 8-bit images to the full run: mean, and 95 % interval of a "
        f"bootstrap over prompts ({RESAMPLES} resamples); ahead: the searched pair over this row",
    }  # fmt: skip


def draw(figures: dict, file: Path) -> None:
    """Draw how far the searched pairs are ahead of the baselines, a panel for each number of full
    steps."""
    rows = figures["rows"]
    counts = sorted({row["full"] for row in rows}, reverse=True)
    pairs = sorted(
        {name for row in rows for name in row["ahead"]}, key=lambda n: int(n.split()[-1])
    )
    picture = Figure(figsize=(5 * len(counts), 3.5), dpi=110, layout="constrained")
    for axes, full in zip(picture.subplots(1, len(counts), squeeze=False)[0], counts, strict=True):
        baselines = [r for r in rows if r["full"] == full and r["name"] in BASELINES]
        here = [pair for pair in pairs if pair in baselines[0]["ahead"]]
        for number, pair in enumerate(here):
            mean, low, high = np.array([row["ahead"][pair] for row in baselines]).T
            places = np.arange(len(baselines)) + 0.2 * (number - (len(here) - 1) / 2)
            color = f"C{pairs.index(pair)}"
            errors = (mean - low, high - mean)
            axes.errorbar(mean, places, xerr=errors, fmt="o", color=color, label=pair)
        axes.axvline(0, color="#999999", linewidth=1)
        labels = [f"{row['name']}, {row['policy']}".removesuffix(", none") for row in baselines]
        axes.set_yticks(range(len(baselines)), labels, fontsize=8)
        axes.set_title(f"{full} of {STEPS} steps full")
        axes.set_xlabel("ahead of the control, dB")
        axes.legend(fontsize=8)
    picture.savefig(file)
