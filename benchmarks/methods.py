"""The ten methods, searched golden paths and baselines on the demo model, side by side.

Images with CFG 1 and 3, videos with CFG 5 under Euler and uni_pc, 50 and 20 steps, the source
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

import argparse
import math
import statistics
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from benchmarks import _demo, _results
from benchmarks._lab import Lab, Prompts, compared, labs
from benchmarks._replay import DIGITS, DRAWS, replay
from benchmarks._results import interval
from benchmarks._shots import Shot, Shots
from benchmarks._subjects import BOTH
from benchmarks._ways import FITTED, PLAIN, baselines, ways
from gph_core.schedule import Schedule

RESULTS = Path(__file__).parent / "results"
BAR = 0.5  # cached steps that a calibrated method may be off on unseen prompts
FIRST = 10 / 12  # share of the columns in which the fitted path is first
COLUMNS = 4  # panels of the picture in a row


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench methods", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--only", nargs="*", default=(), help="names of settings")
    parser.add_argument("--ways", nargs="*", default=(), help="names of ways")
    options = parser.parse_args()
    _demo.begin()
    found = [row for lab in labs(options.only) for row in rows(lab, options.ways)]
    if options.save:
        found = merged(found)
    print(table(found))
    missed = misses(found)
    print("\n".join(["", "missed bars:", *(missed or ["none"])]))
    if options.save:
        save(found)
    return int(options.check and bool(missed))


def rows(lab: Lab, names: Collection[str] = ()) -> Iterator[dict]:
    """A row for each way of sampling, and what replaying the most frequent schedule changes.

    Args:
        names: of the ways beside the baselines; all without any.
    """
    from golden_path_pack.gph_core.methods.table import ALL

    methods = [name for name in names or compared(ALL) if name in ALL]
    missing = lab.calibrate(methods) if methods else ()
    shots, everyone = Shots(lab), range(lab.prompts.unseen)
    for full in lab.counts:
        even, plain = (shots.of(way, everyone) for way in baselines(lab.steps, full))
        for way in ways(lab, full, names, missing):
            found = shots.of(way, everyone)
            row = {"setting": str(lab), "full": full, "wanted": lab.steps - full, "name": way.name}
            row |= {"adaptive": way.alone, **summary(found), "replay": None}
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


def summary(found: list[Shot]) -> dict:
    """Means with 95 % intervals, and what was realized."""
    schedules = [shot.schedule for shot in found]
    counts = [0 if "plain" in text else Schedule.parse(text).num_cached for text in schedules]
    common = max(sorted(set(schedules)), key=schedules.count)
    return {
        "psnr": interval([shot.psnr for shot in found], DIGITS),
        "ssim": interval([shot.ssim for shot in found], DIGITS),
        "latent_mse": interval([shot.latent_mse for shot in found], DIGITS),
        "cached": statistics.fmean(counts), "spread": statistics.pstdev(counts),
        "distinct": len(set(schedules)), "schedule": common,
        "share": schedules.count(common) / len(schedules),
    }  # fmt: skip


def misses(found: list[dict]) -> list[str]:
    """Bars that are missed, in words: of the adaptive methods, then of the fitted path."""
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


def merged(found: list[dict]) -> list[dict]:
    """The kept results with the new ones in their places, in the order of settings and ways."""
    kept = _results.kept(RESULTS / "methods.json").get("rows", [])
    together = {title(row): row for row in [*kept, *found]}
    settings = [str(lab) for lab in labs()]
    # Sorting is stable: within a setting and a number of full steps the order stays.
    return sorted(together.values(), key=lambda r: (settings.index(r["setting"]), -r["full"]))


def save(found: list[dict]) -> None:
    """Write figures and picture, with their conditions."""
    conditions = {
        "model": BOTH, "sampling": f"{_demo.SAMPLER} or as the setting says, simple",
        "prompts": f"{Prompts().unseen} held out of training, one noise each",
        "unit": "against the full run: mean and half of its 95 % interval by Student's t over the "
        "prompts; PSNR in dB of 8-bit images; ahead: over uniform spacing with residual reuse, "
        "paired; over_plain: over as many plain steps; replay: the most frequent schedule less the "
        f"method's choice, over the prompts; random: the same of {DRAWS} random schedules, over "
        "their means",
    }  # fmt: skip
    _results.write(RESULTS / "methods.json", conditions, rows=found)
    draw(found)


def draw(found: list[dict]) -> None:
    """Draw each way's PSNR, a panel for each setting, a color for each number of full steps."""
    from matplotlib.figure import Figure

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
    picture.savefig(RESULTS / "methods.png")


if __name__ == "__main__":
    sys.exit(main())
