"""What a search should maximise: some prompts choose a schedule, others say what it is worth.

Spacings, and each of them with one full step moved by one, are scored on 200 prompts, every prompt
under weights that were fitted to others. Then, many times, 16 or 32 of the prompts choose the best
schedule by an objective, and mean PSNR, worst tenth, share hardly visible and LPIPS of the other
prompts under it are what the objective is worth. How sure its lead over the default is comes from
random halves of the prompts. It is a study of known scores, not of whole searches.

LPIPS needs a file of torchvision's weights of AlexNet, as *Quality Compare* does:
``-- --lpips alexnet-owt-7be5be79.pth``. It takes about two hours of one core.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np
import torch
from golden_path_pack.gph_core.paths.spacings import spacings
from golden_path_pack.gph_core.quality import lpips_network, metrics
from golden_path_pack.gph_core.quality.objective import (
    CAPPED,
    DEFAULT,
    FOR_SEARCHES,
    HARDLY,
    PSNR,
    Metrics,
)
from golden_path_pack.gph_core.quality.verdict import HARDLY_VISIBLE
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.sample.assessing import Assessor

from benchmarks.lab import demo, report
from benchmarks.lab.lab import Lab, Prompts
from benchmarks.lab.results import seen

FILE = "objectives.json"
# CFG, steps, and how many are full. Without guidance more images are beyond the cap of PSNR.
SETTINGS = ((demo.CFG, 20, 8), (demo.CFG, 50, 9), (1.0, 20, 8), (1.0, 20, 5), (1.0, 50, 9))
PROMPTS = Prompts(unseen=200)
CHOOSERS = (16, 32)  # prompts that choose
OBJECTIVES = (PSNR.name, CAPPED, HARDLY, "LPIPS")
DRAWS, SEED = 1500, 51
HALVES, DRAWS_OF_HALF = 100, 200
MEASURED = {"psnr": 1, "worst tenth": 1, "good": 1, "lpips": -1}  # 1: more is better
JUDGED = ("worst tenth", "good", "lpips")  # what people see

Scores = dict[Schedule, list[Metrics]]


def add_options(parser) -> None:
    parser.add_argument("--lpips", type=Path, required=True, help="file of AlexNet's weights")


def measure(options) -> dict:
    network = lpips_network.load(options.lpips)
    return {"rows": report.printed(rows(network))}


def rows(network: metrics.Network) -> Iterator[dict]:
    """A row for each setting, number of choosing prompts, and objective."""
    for cfg, steps, full in SETTINGS:
        scores = scored(Lab(steps, cfg, prompts=PROMPTS), full, network)
        for choosers in CHOOSERS:
            for name, found in compared(scores, choosers).items():
                yield {
                    "cfg": cfg, "steps": steps, "full": full, "schedules": len(scores),
                    "choosers": choosers, "objective": name, **found,
                }  # fmt: skip


def scored(lab: Lab, full: int, network: metrics.Network) -> Scores:
    """PSNR and LPIPS of every prompt under each schedule."""
    lpips = partial(metrics.lpips, network=network)
    examples = lab.fits(lab.unseen, Assessor(lab.vae, {"psnr": metrics.psnr_8bit, "lpips": lpips}))
    with torch.inference_mode():
        examples.begin()
        return {
            one: list(examples.measure(one, range(len(examples))).metrics)
            for one in schedules(lab.steps, full)
        }


def schedules(steps: int, full: int) -> list[Schedule]:
    """The spacings, then each of them with one full step moved by one."""
    found = spacings(steps, full)
    moved = [
        one.swap(step, step + by)
        for one in found
        for step in one.full_steps[1:]
        for by in (-1, 1)
        if step + by in one.cached_steps
    ]
    return list(dict.fromkeys([*found, *moved]))


def compared(scores: Scores, choosers: int) -> dict[str, dict]:
    """What each objective is worth on the prompts that did not choose, and its lead.

    Args:
        choosers: number of prompts that choose.
    """
    found = {name: resampled(stacked(scores, name), choosers) for name in OBJECTIVES}
    return {
        name: dict(zip(MEASURED, values[0].round(4).tolist(), strict=True))
        | ({} if name == DEFAULT else {"ahead": ahead(values - found[DEFAULT])})
        for name, values in found.items()
    }


def resampled(stack: np.ndarray, choosers: int) -> np.ndarray:
    """What is measured with all prompts, then with each of the halves, ``[1 + HALVES, 4]``."""
    count, rng = stack.shape[-1], np.random.default_rng(SEED + 1)
    halves = [stack[..., rng.permutation(count)[: count // 2]] for _ in range(HALVES)]
    of_halves = [drawn(half, choosers, DRAWS_OF_HALF) for half in halves]
    return np.array([drawn(stack, choosers, DRAWS), *of_halves])


def ahead(leads: np.ndarray) -> dict[str, tuple[float, float]]:
    """Leads over the default objective, and half of their 95 % intervals.

    The intervals are those of the delete-half jackknife: leads on random halves of the prompts
    scatter around that on all of them as this does around the truth.

    Args:
        leads: differences of ``resampled``.
    """
    half = 1.96 * np.sqrt(np.square(leads[1:] - leads[0]).mean(0))
    pairs = zip(leads[0].round(4).tolist(), half.round(4).tolist(), strict=True)
    return dict(zip(MEASURED, pairs, strict=True))


def stacked(scores: Scores, name: str) -> np.ndarray:
    """Values of an objective, PSNR and LPIPS, ``[3, schedules, prompts]``."""
    functions = (FOR_SEARCHES[name].value, itemgetter("psnr"), itemgetter("lpips"))
    return np.array([[[of(one) for one in some] for some in scores.values()] for of in functions])


def drawn(stack: np.ndarray, choosers: int, draws: int) -> np.ndarray:
    """Means over draws of what is measured on the prompts that did not choose, as ``MEASURED``."""
    values, psnr, lpips = stack
    rng, found = np.random.default_rng(SEED), []
    for _ in range(draws):
        order = rng.permutation(values.shape[1])
        some, others = order[:choosers], order[choosers:]
        best = values[:, some].mean(1).argmax()
        tally = seen(psnr[best, others])
        found.append((psnr[best, others].mean(), *tally.values(), lpips[best, others].mean()))
    return np.mean(found, 0)


def misses(figures: dict) -> list[str]:
    """Objectives that are, in a setting, surely ahead of the default in what people see, and
    surely behind in nothing of it."""
    words = []
    for row in figures["rows"]:
        leads = [
            (MEASURED[key] * mean, half)
            for key, (mean, half) in row.get("ahead", {}).items()
            if key in JUDGED
        ]
        is_ahead = any(mean > half for mean, half in leads)
        if is_ahead and not any(mean < -half for mean, half in leads):
            words.append(f"{setting(row)}: {row['objective']} is surely ahead of {DEFAULT}")
    return words


def setting(row: dict) -> str:
    """Setting of a row in words."""
    return f"CFG {row['cfg']:g}, {row['full']} of {row['steps']}, {row['choosers']} prompts choose"


def summary(figures: dict) -> str:
    head = ["setting", "objective", "PSNR dB", "worst tenth", "hardly visible", "LPIPS"]
    head += [f"{key}, ahead" for key in JUDGED]
    lines = [
        [
            setting(row), row["objective"], f"{row['psnr']:.1f}", f"{row['worst tenth']:.1f}",
            f"{row['good']:.1%}", f"{row['lpips']:.4f}",
            *("{:+.4f} ± {:.4f}".format(*row["ahead"][key]) if "ahead" in row else ""
              for key in JUDGED),
        ]
        for row in figures["rows"]
    ]  # fmt: skip
    return report.table(head, lines)


def conditions(options) -> dict:
    return {
        "model": "demo model", "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER}",
        "prompts": f"{PROMPTS.unseen} held out of training, one noise each, each under weights "
        "fitted to others",
        "lpips": "AlexNet, images of 64 x 64 pixels",
        "unit": f"means over {DRAWS} draws, of the prompts that did not choose: PSNR in dB to the "
        f"full run, worst tenth of it, share from {HARDLY_VISIBLE:g} dB on, and LPIPS; "
        f"ahead: of {DEFAULT}, with half of a 95 % interval (delete-half jackknife)",
    }  # fmt: skip
