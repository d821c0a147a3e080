"""How many schedules and how many examples a search of fitted paths needs, on the demo model.

*Schedules*: searches of 40 and of 400 schedules, each with five seeds. *Examples*: searches on 8
and on 16 scoring prompts, compared with uniform spacing (residual reuse) too. *Grids*: as many full
steps of 20 and of 50, both compared with a full run of 200 steps. Every path that a search delivers
is looked at once, on 200 prompts that no search saw.

It takes some hours of one core; what is done is kept in ``.dev/``, so it may be stopped.
``-- --only examples`` does a part.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np
import torch
from golden_path_pack.gph_core.paths.golden_path import GoldenPath
from torch import Tensor

from benchmarks.lab import demo, fitted, report
from benchmarks.lab.lab import Lab
from benchmarks.lab.results import interval
from benchmarks.lab.ways import baselines, of_path
from benchmarks.quality.fitted_paths import PROMPTS, lab_of, psnr

Setting = tuple[int, int, float]  # steps, full steps, CFG

FILE = "fitted-search.json"
SCHEDULES, SEEDS = (40, 400), range(5)
SCHEDULES_BAR = 0.3  # dB that few schedules may lose, median of the seeds
SETTINGS_OF_SCHEDULES: tuple[Setting, ...] = ((20, 5, 5.0),)
EXAMPLES = (8, 16)
EXAMPLES_BAR = 0.5  # dB that few examples may lose
SETTINGS_OF_EXAMPLES: tuple[Setting, ...] = (
    (50, 13, 5.0),
    (50, 9, 5.0),
    (50, 6, 5.0),
    (20, 5, 5.0),
    (50, 9, 1.0),
)
GRIDS, FINEST = (20, 50), 200  # steps
COUNTS_OF_GRIDS, CFG_OF_GRIDS = (8, 5, 4), 5.0


def add_options(parser) -> None:
    parser.add_argument("--only", choices=sorted(PARTS), help="one part")


def measure(options) -> dict:
    chosen = [options.only] if options.only else PARTS
    return {name: report.printed(PARTS[name]()) for name in chosen}


def merged(kept: dict, figures: dict) -> dict:
    """New parts in the place of saved ones."""
    return {**kept, **figures}


def schedules() -> Iterator[dict]:
    """A row a setting: PSNR of what few and many schedules deliver, a number for each seed."""
    for setting in SETTINGS_OF_SCHEDULES:
        found = {
            str(budget): [mean(setting, budget, seed) for seed in SEEDS] for budget in SCHEDULES
        }
        few, many = (statistics.median(values) for values in found.values())
        yield {**named(setting), "psnr": found, "lost": round(many - few, 3)}


def mean(setting: Setting, budget: int, seed: int) -> float:
    """Mean PSNR on the unseen prompts of what a search delivers."""
    steps, full, cfg = setting
    path = fitted.found(Lab(steps, cfg), full, budget, seed=seed)
    return round(float(scores(setting, path).mean()), 3)


def examples() -> Iterator[dict]:
    """A row a setting: what few examples lose, and how far each is ahead of uniform spacing."""
    for setting in SETTINGS_OF_EXAMPLES:
        steps, full, cfg = setting
        uniform = psnr(lab_of(steps, cfg), baselines(steps, full)[0])
        found = {
            str(count): scores(setting, fitted.found(Lab(steps, cfg), full, scoring=count))
            for count in EXAMPLES
        }
        few, many = found.values()
        ahead = {count: interval(values - uniform) for count, values in found.items()}
        yield {**named(setting), "lost": interval(many - few), "ahead": ahead}


def grids() -> Iterator[dict]:
    """A row a number of full steps: coarse and fine paths, and the coarse full run itself, against
    a very fine full run."""
    truth = images(FINEST, None)
    coarse = demo.psnr(images(GRIDS[0], None), truth)
    for full in COUNTS_OF_GRIDS:
        found = {
            str(steps): demo.psnr(images(steps, fitted.path(steps, full, CFG_OF_GRIDS)), truth)
            for steps in GRIDS
        }
        gain = interval(found[str(GRIDS[1])] - found[str(GRIDS[0])])
        values = {steps: interval(values) for steps, values in found.items()}
        yield {
            "full": full, "cfg": CFG_OF_GRIDS, "psnr": values, "fine ahead": gain,
            f"full run of {GRIDS[0]}": interval(coarse),
        }  # fmt: skip


def images(steps: int, path: GoldenPath | None) -> Tensor:
    """8-bit images of the unseen prompts under a path, or of full runs."""
    lab, found = lab_of(steps, CFG_OF_GRIDS), []
    work = lab.unseen
    plan = path and of_path(path).plan
    for first in range(0, len(work), demo.BATCH):
        sampling = work.batch(range(first, min(first + demo.BATCH, len(work))))
        assert sampling is not None
        with torch.inference_mode():
            latent = sampling.under(plan)[0] if plan else sampling.full()
            found.append((lab.vae.decode(latent).clamp(0, 1) * 255).round())
    return torch.cat(found)


def scores(setting: Setting, path: GoldenPath) -> np.ndarray:
    """dB ``[P]`` of a path on the unseen prompts."""
    steps, _, cfg = setting
    return psnr(lab_of(steps, cfg), of_path(path))


def named(setting: Setting) -> dict:
    """Setting of a row."""
    steps, full, cfg = setting
    return {"steps": steps, "full": full, "cfg": cfg}


PARTS = {"schedules": schedules, "examples": examples, "grids": grids}


def misses(found: dict) -> list[str]:
    words = []
    for row in found.get("schedules", ()):
        if row["lost"] > SCHEDULES_BAR:
            words.append(f"{title(row)}: {SCHEDULES[0]} schedules lose {row['lost']:.2f} dB")
    for row in found.get("examples", ()):
        lost, half = row["lost"]
        if lost > EXAMPLES_BAR:
            words.append(f"{title(row)}: {EXAMPLES[0]} examples lose {lost:.2f} ± {half:.2f} dB")
        for count, (ahead, half) in row["ahead"].items():
            if ahead - half <= 0:
                words.append(f"{title(row)}, {count} examples: {ahead:+.2f} ± {half:.2f} dB ahead")
    return words


def title(row: dict) -> str:
    """Setting of a row as a text."""
    return f"{row['full']} of {row['steps']}, CFG {row['cfg']:g}"


def conditions(options) -> dict:
    return {
        "model": "demo model", "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER}",
        "search": f"{fitted.ALGORITHM}; {fitted.BUDGET} schedules and "
        f"{fitted.SCORING} scoring prompts where no other number is given; chosen on "
        f"{fitted.VALIDATION} others",
        "prompts": f"{PROMPTS.unseen} that no search saw, one noise each",
        "unit": "dB of 8-bit images to the full run; schedules: means, a number for each of five "
        "seeds, and the difference of their medians; examples: mean and half of its 95 % interval "
        "by Student's t, paired by prompt; grids: the same, to the full run of "
        f"{FINEST} steps",
    }  # fmt: skip
