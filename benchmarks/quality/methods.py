"""The ten methods, searched golden paths and baselines on the demo model, side by side.

Images with CFG 1 and 3, videos with CFG 5 under Euler and uni_pc, 50 and 20 steps, the GPH
paper's three cache ratios: every method is calibrated on 50 preparation prompts and sampled on 100
unseen ones, each compared with the full run of its prompt and noise. Then the paper's central test:
the most frequent schedule of each adaptive method, selected on a third of the unseen prompts, is
replayed on the others, where it differs from what the method chose there; so are random schedules
of as many full steps.

It takes some hours of one core; what is done is kept in ``.dev/``, so it may be stopped.
``-- --only "50 steps, CFG 3"`` does a part, several at once if you like; ``--ways "fitted path"``
does some of the ways beside the baselines. With ``--save`` the other results stay as they are.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.schedule import Schedule
from matplotlib.figure import Figure

from benchmarks.lab import demo, report
from benchmarks.lab.lab import Lab, Prompts, compared
from benchmarks.lab.replay import DIGITS, DRAWS, replay
from benchmarks.lab.results import interval, seen
from benchmarks.lab.shots import Shot, Shots
from benchmarks.lab.subjects import BOTH, VIDEO
from benchmarks.lab.ways import FITTED, PLAIN, baselines, ways

FILE = "methods.json"
BAR = 0.5  # cached steps that a calibrated method may be off on unseen prompts
FIRST = 10 / 12  # share of the columns in which the fitted path is first
COLUMNS = 4  # panels of the picture in a row


def add_options(parser) -> None:
    parser.add_argument("--only", nargs="*", default=(), help="names of settings")
    parser.add_argument("--ways", nargs="*", default=(), help="names of ways")


def measure(options) -> dict:
    return {"rows": [row for lab in labs(options.only) for row in rows(lab, options.ways)]}


def labs(only: Sequence[str] = ()) -> list[Lab]:
    """All settings, or those of some names."""
    every = [Lab(steps, cfg) for steps in (50, 20) for cfg in (1.0, 3.0)]
    every += [
        Lab(steps, 5.0, sampler, subject=VIDEO)
        for steps in (50, 20)
        for sampler in (demo.SAMPLER, "uni_pc")
    ]
    return [lab for lab in every if not only or str(lab) in only]


def rows(lab: Lab, names: Collection[str] = ()) -> Iterator[dict]:
    """A row for each way of sampling, and what replaying the most frequent schedule changes.

    Args:
        names: of the ways beside the baselines; all without any.
    """
    methods = [name for name in names or compared(ALL) if name in ALL]
    missing = lab.calibrate(methods) if methods else ()
    shots, everyone = Shots(lab), range(lab.prompts.unseen)
    for full in lab.counts:
        even, plain = (shots.of(way, everyone) for way in baselines(lab.steps, full))
        for way in ways(lab, full, names, missing):
            found = shots.of(way, everyone)
            row = {"setting": str(lab), "full": full, "wanted": lab.steps - full, "name": way.name}
            row |= {"adaptive": way.alone, **means(found), "replay": None}
            if way.alone:
                row["replay"] = replay(lab, shots, way, found)
            row |= {"ahead": ahead(found, even), "over_plain": ahead(found, plain)}
            print(f"{title(row)}: {row['psnr'][0]:.2f} dB", flush=True)
            yield row


def ahead(found: list[Shot], others: list[Shot]) -> tuple[float, float]:
    """dB ahead of others on the same prompts: mean, and half of its 95 % interval."""
    return interval(
        [one.psnr - other.psnr for one, other in zip(found, others, strict=True)], DIGITS
    )


def means(found: list[Shot]) -> dict:
    """Means with 95 % intervals, and what was realized."""
    schedules = [shot.schedule for shot in found]
    counts = [0 if "plain" in text else Schedule.parse(text).num_cached for text in schedules]
    common = max(sorted(set(schedules)), key=schedules.count)
    return {
        "psnr": interval([shot.psnr for shot in found], DIGITS),
        **seen([shot.psnr for shot in found]),
        "ssim": interval([shot.ssim for shot in found], DIGITS),
        "latent_mse": interval([shot.latent_mse for shot in found], DIGITS),
        "cached": statistics.fmean(counts), "spread": statistics.pstdev(counts),
        "distinct": len(set(schedules)), "schedule": common,
        "share": schedules.count(common) / len(schedules),
    }  # fmt: skip


def misses(figures: dict) -> list[str]:
    """Bars of the adaptive methods, then of the fitted path."""
    found = figures["rows"]
    words = [
        f"{title(row)}: {row['cached']:.2f} cached"
        for row in found
        if row["adaptive"] and abs(row["cached"] - row["wanted"]) > BAR
    ]
    fitted = [row for row in found if row["name"] == FITTED]
    behind = [row for row in fitted if sum(row["over_plain"]) < 0]
    words += [f"{title(row)}: {row['over_plain'][0]:+.2f} dB over {PLAIN}" for row in behind]
    best = {
        column(row): row["name"] for row in sorted(found, key=lambda row: row["psnr"][0])
    }  # the last one stays
    first = sum(best[column(row)] == FITTED for row in fitted)
    if first < FIRST * len(fitted):
        words.append(f"the {FITTED} is first in {first} of {len(fitted)} columns")
    return words


def column(row: dict) -> tuple[str, int]:
    """Setting and number of full steps."""
    return row["setting"], row["full"]


def title(row: dict) -> str:
    """Setting, number of full steps and way of a row."""
    return f"{row['setting']}, {row['full']} full, {row['name']}"


def summary(figures: dict) -> str:
    """The best of each setting and number of full steps first."""
    head = ["setting", "full", "method", "cached", "PSNR dB", "worst tenth", "good"]
    head += ["ahead of uniform", "SSIM", "schedules", "most frequent"]
    head += ["replayed, dB", "random, dB", "runs"]
    order = sorted(figures["rows"], key=lambda r: (r["setting"], -r["full"], -r["psnr"][0]))
    lines = []
    for row in order:
        again = row["replay"] or {}
        mean, half = row["psnr"]
        lines.append([
            row["setting"], row["full"], row["name"], f"{row['cached']:.2f}",
            f"{mean:.2f} ± {half:.2f}", row.get("worst tenth", ""), good(row),
            report.within(row["ahead"]), f"{row['ssim'][0]:.3f}",
            row["distinct"], most_frequent(row), report.within(again.get("replayed psnr")),
            report.within(again.get("random psnr")), again.get("runs", ""),
        ])  # fmt: skip
    return report.table(head, lines)


def good(row: dict) -> str:
    """Share hardly visible; older rows have none."""
    return f"{row['good']:.0%}" if "good" in row else ""


def most_frequent(row: dict) -> str:
    """Share of the most frequent schedule in the selected third, and how many steps it caches where
    that is not the wanted number."""
    again = row["replay"]
    if again is None:
        return ""
    other = f", {again['cached']} cached" if again["cached"] != row["wanted"] else ""
    return f"{again['share']:.0%}{other}"


def merged(kept: dict, figures: dict) -> dict:
    """New rows in the places of saved ones, in the order of settings and ways."""
    together = {title(row): row for row in [*kept.get("rows", []), *figures["rows"]]}
    settings = [str(lab) for lab in labs()]
    # Sorting is stable: within a setting and a number of full steps the order stays.
    order = sorted(together.values(), key=lambda r: (settings.index(r["setting"]), -r["full"]))
    return {"rows": order}


def conditions(options) -> dict:
    return {
        "model": BOTH, "sampling": f"{demo.SAMPLER} or as the setting says, simple",
        "prompts": f"{Prompts().unseen} held out of training, one noise each",
        "unit": "against the full run: mean and half of its 95 % interval by Student's t over the "
        "prompts; PSNR in dB of 8-bit images; ahead: over uniform spacing with residual reuse, "
        "paired; over_plain: over as many plain steps; replay: the most frequent schedule less the "
        f"method's choice, over the prompts; random: the same of {DRAWS} random schedules, over "
        "their means",
    }  # fmt: skip


def draw(figures: dict, file: Path) -> None:
    """Draw each way's PSNR, a panel for each setting, a color for each number of full steps."""
    found = figures["rows"]
    settings = list(dict.fromkeys(row["setting"] for row in found))
    names = list(dict.fromkeys(row["name"] for row in found))
    rows = math.ceil(len(settings) / COLUMNS)
    picture = Figure(figsize=(3.2 * COLUMNS, 5 * rows), dpi=110, layout="constrained")
    panels = picture.subplots(rows, COLUMNS, sharey=True, squeeze=False).ravel()
    for spare in panels[len(settings) :]:
        spare.remove()
    for axes, setting in zip(panels, settings, strict=False):
        here = [row for row in found if row["setting"] == setting]
        for number, full in enumerate(dict.fromkeys(row["full"] for row in here)):
            some = [row for row in here if row["full"] == full]
            mean, half = np.array([row["psnr"] for row in some]).T
            places = [names.index(row["name"]) for row in some]
            axes.errorbar(
                mean, places, xerr=half, fmt="o", color=f"C{number}", label=f"{full} full"
            )
        axes.set(title=setting, xlabel="PSNR to the full run, dB")
        axes.tick_params("y", labelsize=8)
        axes.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    picture.savefig(file)
