"""How many schedules and how many examples a search of fitted paths needs, on the demo model.

*Schedules*: searches of 40 and of 400 schedules, each with five seeds. *Examples*: searches on 8
and on 16 scoring prompts, compared with uniform spacing (residual reuse) too. *Grids*: as many full
steps of 20 and of 50, both compared with a full run of 200 steps. Every path that a search delivers
is looked at once, on 200 prompts that no search saw.

It takes some hours of one core; what is done is kept in ``.dev/``, so it may be stopped.
``-- --only examples`` does a part.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks import _demo, _fitted_paths, _results
from benchmarks._lab import prepare
from benchmarks._results import interval
from benchmarks._ways import baselines, of_path
from benchmarks.fitted_paths import PROMPTS, SCHEDULER, lab_of, psnr
from gph_core.paths.golden_path import GoldenPath

Setting = tuple[int, int, float]  # steps, full steps, CFG

FILE = Path(__file__).parent / "results" / "fitted-search.json"
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench fitted-search", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--only", choices=sorted(PARTS), help="one part")
    options = parser.parse_args()
    _demo.begin()
    found = {
        name: [printed(row) for row in rows()]
        for name, rows in PARTS.items()
        if options.only in (None, name)
    }
    missed = misses(found)
    print("\n".join(["", "missed bars:", *(missed or ["none"])]))
    if options.save:
        save(found)
    return int(options.check and bool(missed))


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
    path = _fitted_paths.found(*setting, budget, seed=seed)
    return round(float(scores(setting, path).mean()), 3)


def examples() -> Iterator[dict]:
    """A row a setting: what few examples lose, and how far each is ahead of uniform spacing."""
    for setting in SETTINGS_OF_EXAMPLES:
        steps, full, cfg = setting
        uniform = psnr(lab_of(steps, cfg), baselines(steps, full)[0])
        found = {
            str(count): scores(setting, _fitted_paths.found(*setting, scoring=count))
            for count in EXAMPLES
        }
        few, many = found.values()
        ahead = {count: interval(values - uniform) for count, values in found.items()}
        yield {**named(setting), "lost": interval(many - few), "ahead": ahead}


def grids() -> Iterator[dict]:
    """A row a number of full steps: coarse and fine paths, and the coarse full run itself, against
    a very fine full run."""
    truth = images(FINEST, None)
    coarse = _demo.psnr(images(GRIDS[0], None), truth)
    for full in COUNTS_OF_GRIDS:
        found = {
            str(steps): _demo.psnr(
                images(steps, _fitted_paths.path(steps, full, CFG_OF_GRIDS)), truth
            )
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
    from golden_path_pack.demo.comfy_model import DemoVAE

    work, vae, found = lab_of(steps, CFG_OF_GRIDS).unseen, DemoVAE(), []
    plan = path and of_path(path).plan
    for first in range(0, len(work), _demo.BATCH):
        sampling = prepare(work)(range(first, min(first + _demo.BATCH, len(work))))
        with torch.inference_mode():
            latent = sampling.under(plan)[0] if plan else sampling.full()
            found.append((vae.decode(latent).clamp(0, 1) * 255).round())
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


def printed(row: dict) -> dict:
    """A row, once it is printed."""
    print(json.dumps(row), flush=True)
    return row


def misses(found: dict[str, list[dict]]) -> list[str]:
    """Bars that are missed, in words."""
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


def save(found: dict[str, list[dict]]) -> None:
    """Write figures with their conditions; those of parts that were left out stay."""
    conditions = {
        "model": "demo model", "sampling": f"{_demo.SAMPLER}, {SCHEDULER}",
        "search": f"{_fitted_paths.ALGORITHM}; {_fitted_paths.BUDGET} schedules and "
        f"{_fitted_paths.SCORING} scoring prompts where no other number is given; chosen on "
        f"{_fitted_paths.VALIDATION} others",
        "prompts": f"{PROMPTS.unseen} that no search saw, one noise each",
        "unit": "dB of 8-bit images to the full run; schedules: means, a number for each of five "
        "seeds, and the difference of their medians; examples: mean and half of its 95 % interval "
        "by Student's t, paired by prompt; grids: the same, to the full run of "
        f"{FINEST} steps",
    }  # fmt: skip
    _results.write(FILE, conditions, **{**_results.kept(FILE), **found})


if __name__ == "__main__":
    sys.exit(main())
