"""The ten methods, a searched golden path and baselines on the demo model, side by side.

For 50 and 28 steps, CFG 1 and 3, and the source paper's three cache ratios: every method is
calibrated on 50 preparation prompts and sampled on 100 unseen ones, each compared with the full run
of its prompt and noise. Then the paper's central test: the most frequent schedule of each adaptive
method, selected on a third of the unseen prompts, is replayed on the others, where it differs from
what the method chose there; so are random schedules of as many full steps.

It takes some hours of one core; what is done is kept in ``.dev/``, so it may be stopped.
``-- --only "50 steps, CFG 3"`` does a part, several at once if you like.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from benchmarks import _demo
from benchmarks._lab import Lab, Prompts, labs
from benchmarks._shots import Shot, Shots, Way
from benchmarks._ways import UNIFORM, fixed, ways
from gph_core.analysis.frequency import Frequencies
from gph_core.schedule import Schedule, ScheduleSpace

RESULTS = Path(__file__).parent / "results"
DRAWS = 5  # of random schedules, as in the source paper
BAR = 0.5  # cached steps that a calibrated method may be off on unseen prompts


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench methods", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--only", nargs="*", default=(), help="names of settings")
    options = parser.parse_args()
    if options.save and options.only:
        parser.error("--save writes the results of all settings; leave --only out")
    _demo.begin()
    found = [row for lab in labs(options.only) for row in rows(lab)]
    print(table(found))
    missed = misses(found)
    print("\n".join(["", f"more than {BAR} cached steps off:", *(missed or ["none"])]))
    if options.save:
        save(found)
    return int(options.check and bool(missed))


def rows(lab: Lab) -> Iterator[dict]:
    """A row for each way of sampling, and what replaying the most frequent schedule changes."""
    lab.calibrate()
    shots, everyone = Shots(lab), range(lab.prompts.unseen)
    for full in lab.counts:
        baseline = None
        for way in ways(lab, full):
            found = shots.of(way, everyone)
            if way.name == UNIFORM:
                baseline = found
            row = {"setting": str(lab), "full": full, "wanted": lab.steps - full, "name": way.name}
            row |= {"adaptive": way.alone, **summary(found), "replay": None}
            if way.alone:
                row["replay"] = replay(lab, shots, way, found)
            assert baseline is not None
            row["ahead"] = interval([a.psnr - b.psnr for a, b in zip(found, baseline, strict=True)])
            print(f"{lab}, {full} full, {way.name}: {row['psnr'][0]:.2f} dB", flush=True)
            yield row


def replay(lab: Lab, shots: Shots, way: Way, found: list[Shot]) -> dict:
    """The central test: one schedule for all prompts against the method's own choice for each.

    Source: seed paper, *Selecting shared schedules* and the replay tables.
    """
    schedules = [Schedule.parse(shot.schedule) for shot in found]
    third = len(schedules) // 3
    selection, rest = schedules[:third], range(third, len(schedules))
    chosen = Frequencies.of(selection).most_frequent(lab.steps - way.num_full)
    differing = [n for n in rest if schedules[n] != chosen]
    share = sum(schedule == chosen for schedule in selection) / third
    result = {
        "schedule": str(chosen), "cached": chosen.num_cached, "share": share,
        "runs": len(differing),
    }  # fmt: skip
    random_ones = [drawn(chosen, f"{way.name} {number}") for number in range(DRAWS)]
    for metric in ("psnr", "ssim"):

        def gains(schedule, metric=metric) -> list[float]:
            again = shots.of(fixed(way.name, schedule, way.plan.policy), differing)
            pairs = zip(again, (found[n] for n in differing), strict=True)
            return [getattr(new, metric) - getattr(old, metric) for new, old in pairs]

        several = len(differing) > 1
        result[f"replayed {metric}"] = interval(gains(chosen)) if several else None
        means = [statistics.fmean(gains(schedule)) for schedule in random_ones if several]
        result[f"random {metric}"] = interval(means) if several else None
    return result


def drawn(like: Schedule, seed: str) -> Schedule:
    """A random schedule of as many full steps, the first three and the last among them."""
    required = (0, 1, 2, like.num_steps - 1)
    space = ScheduleSpace(like.num_steps, like.num_cached, required)
    return space.sample(random.Random(seed))


def summary(found: list[Shot]) -> dict:
    """Means with 95 % intervals, and what was realized."""
    schedules = [shot.schedule for shot in found]
    counts = [0 if "plain" in text else Schedule.parse(text).num_cached for text in schedules]
    common = max(sorted(set(schedules)), key=schedules.count)
    return {
        "psnr": interval([shot.psnr for shot in found]),
        "ssim": interval([shot.ssim for shot in found]),
        "latent_mse": interval([shot.latent_mse for shot in found]),
        "cached": statistics.fmean(counts), "spread": statistics.pstdev(counts),
        "distinct": len(set(schedules)), "schedule": common,
        "share": schedules.count(common) / len(schedules),
    }  # fmt: skip


def interval(values: list[float]) -> tuple[float, float]:
    """Mean, and half of its 95 % interval by Student's t."""
    mean, half = _demo.interval(np.array(values))
    return round(float(mean), 6), round(float(half), 6)


def misses(found: list[dict]) -> list[str]:
    """The adaptive methods that cached another number of steps than they were calibrated for."""
    return [
        f"{row['setting']}, {row['full']} full, {row['name']}: {row['cached']:.2f} cached"
        for row in found
        if row["adaptive"] and abs(row["cached"] - row["wanted"]) > BAR
    ]


def table(found: list[dict]) -> str:
    """Table of the rows as markdown, the best of each setting and number of full steps first."""
    head = ["setting", "full", "method", "cached", "PSNR dB", "ahead of uniform", "SSIM"]
    head += ["schedules", "most frequent", "replayed, dB", "random, dB", "runs"]
    lines = [head, ["---"] * len(head)]
    for row in sorted(found, key=lambda r: (r["setting"], -r["full"], -r["psnr"][0])):
        again = row["replay"] or {}
        cells = [row["setting"], str(row["full"]), row["name"], f"{row['cached']:.2f}"]
        cells += [f"{row['psnr'][0]:.2f} ± {row['psnr'][1]:.2f}"]
        cells += [f"{row['ahead'][0]:+.2f} ± {row['ahead'][1]:.2f}", f"{row['ssim'][0]:.3f}"]
        cells += [str(row["distinct"]), most_frequent(row)]
        for name in ("replayed psnr", "random psnr"):
            gain = again.get(name)
            cells.append(f"{gain[0]:+.2f} ± {gain[1]:.2f}" if gain else "")
        lines.append([*cells, str(again.get("runs", ""))])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def most_frequent(row: dict) -> str:
    """Share of the most frequent schedule in the selected third, and how many steps it caches where
    that is not the wanted number."""
    again = row["replay"]
    if again is None:
        return ""
    other = f", {again['cached']} cached" if again["cached"] != row["wanted"] else ""
    return f"{again['share']:.0%}{other}"


def save(found: list[dict]) -> None:
    """Write figures and picture, with their conditions."""
    from comfyui_version import __version__

    conditions = {
        "model": "demo model", "sampling": f"{_demo.SAMPLER}, simple",
        "prompts": f"{Prompts().unseen} held out of training, one noise each",
        "unit": "against the full run: mean and half of its 95 % interval by Student's t over the "
        "prompts; PSNR in dB of 8-bit images; ahead: over uniform spacing with residual reuse, "
        "paired; replay: the most frequent schedule less the method's choice, over the prompts; "
        f"random: the same of {DRAWS} random schedules, over their means",
        "torch": torch.__version__, "comfyui": __version__,
    }  # fmt: skip
    lines = ",\n".join(map(json.dumps, found))
    text = f'{{"conditions": {json.dumps(conditions)},\n"rows": [\n{lines}\n]}}\n'
    (RESULTS / "methods.json").write_text(text, "utf-8")
    draw(found)


def draw(found: list[dict]) -> None:
    """Draw each way's PSNR, a panel for each setting, a color for each number of full steps."""
    from matplotlib.figure import Figure

    settings = list(dict.fromkeys(row["setting"] for row in found))
    picture = Figure(figsize=(5 * len(settings), 5), dpi=110, layout="constrained")
    panels = picture.subplots(1, len(settings), squeeze=False)[0]
    for axes, setting in zip(panels, settings, strict=True):
        here = [row for row in found if row["setting"] == setting]
        names = list(dict.fromkeys(row["name"] for row in here))
        for number, full in enumerate(dict.fromkeys(row["full"] for row in here)):
            some = [row for row in here if row["full"] == full]
            mean, half = np.array([row["psnr"] for row in some]).T
            places = [names.index(row["name"]) for row in some]
            axes.errorbar(
                mean, places, xerr=half, fmt="o", color=f"C{number}", label=f"{full} full"
            )
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.invert_yaxis()
        axes.set_title(setting)
        axes.set_xlabel("PSNR to the full run, dB")
        axes.legend(fontsize=8)
    picture.savefig(RESULTS / "methods.png")


if __name__ == "__main__":
    sys.exit(main())
