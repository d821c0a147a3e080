"""Quality of a demo model's searched golden paths on prompts that no search saw.

The pairs of schedule and policy of ``_paths`` (searched on 8 or 32 prompts, validated on others)
against baselines with as many full steps, on 100 held-out prompts with three noises each. Every
picture is compared with the full run of its prompt and noise. Gains are paired by prompt; their
95 % intervals are bootstrapped over the prompts. *Plain steps* is a run of just as many steps;
*random* draws a schedule for every 8 pictures; *published, moved* is the path of FLUX.1-dev, or of
Wan 2.1, on the demo model's noise levels. Policies that no search delivered are compared on the
first noise alone.

It takes two to three hours of one core; what was sampled is kept in ``.dev/``, so it may be
stopped. ``-- --search`` searches the paths anew before; ``-- --model video`` is about the video
model.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from benchmarks import _demo, _paths, _results
from benchmarks._path_scores import (
    BASELINES,
    NO_POLICY,
    NOISES,
    PLAIN,
    PROMPTS,
    UNIFORM,
    ScoredWay,
    Scores,
    sample,
    searched,
)
from benchmarks._search import SCHEDULER, STEPS
from benchmarks._subjects import SUBJECTS, add_option
from gph_core.quality.resampling import RESAMPLES, bootstrapped

RESULTS = Path(__file__).parent / "results"
BAR = 0.5  # dB ahead of uniform spacing and of plain steps


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench golden-path", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--search", action="store_true", help="search the paths again")
    add_option(parser)
    options = parser.parse_args()
    _demo.begin()
    if options.search:
        _paths.search(options.model)
    found = _paths.load(options.model)
    if not found:
        parser.error(f"no paths were searched for the {options.model} model; add --search")
    rows = summary(sample(found, options.model), found)
    print(table(rows))
    if options.save:
        save(rows, options.model)
    missed = misses(rows, found)
    print("\n".join(["", f"less than {BAR} dB ahead:", *(missed or ["none"])]))
    return int(options.check and bool(missed))


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean of values ``[P]`` or ``[P, S]``, with its 95 % interval over the prompts."""
    mean, low, high = bootstrapped(values)
    return round(mean, 3), round(low, 3), round(high, 3)


def summary(scores: Scores, found: list[_paths.SearchedPaths]) -> list[dict]:
    """A row for each way: its mean, and how far each searched pair is ahead, with intervals."""
    schedules = {
        ScoredWay(path.full, searched(path.scoring), policy): str(schedule)
        for path in found
        for policy, schedule in path.schedules.items()
    }
    rows = []
    for way, values in scores.items():
        pairs = {ScoredWay(p.full, searched(p.scoring), p.policy): p for p in found}
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


def misses(rows: list[dict], found: list[_paths.SearchedPaths]) -> list[str]:
    """Searched pairs that are not ahead of both baselines by the bar, in words."""
    return [
        f"{path.full} full, {name}: {row['ahead'][name][0]:+.2f} dB ahead of {row['name']}"
        for path in found
        if (name := searched(path.scoring))
        for row in rows
        if (row["full"], row["name"], row["policy"])
        in ((path.full, UNIFORM, path.policy), (path.full, PLAIN, NO_POLICY))
        and row["ahead"][name][0] < BAR
    ]


def table(rows: list[dict]) -> str:
    """Table of the rows as markdown, the best of each number of full steps first."""
    pairs = sorted({name for row in rows for name in row["ahead"]})
    head = ["full", "schedule", "policy", "PSNR dB", *(f"{name} ahead" for name in pairs)]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        name = f"**{row['name']}**" if row["is_pair"] else row["name"]
        ahead = (row["ahead"].get(pair) for pair in pairs)
        gains = ("" if g is None else f"{g[0]:+.2f} ({g[1]:+.2f} to {g[2]:+.2f})" for g in ahead)
        lines.append([str(row["full"]), name, row["policy"], f"{row['psnr'][0]:.2f}", *gains])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def save(rows: list[dict], subject: str) -> None:
    """Write figures and picture, with their conditions."""
    model = SUBJECTS[subject]
    conditions = {
        "model": model.name, "steps": STEPS,
        "sampling": f"{_demo.SAMPLER}, {SCHEDULER}, CFG {_demo.CFG:g}",
        "prompts": f"{PROMPTS} held out of training and search, {len(NOISES)} noises each",
        "unit": "PSNR in dB of 8-bit images to the full run: mean, and 95 % interval of a "
        f"bootstrap over prompts ({RESAMPLES} resamples); ahead: the searched pair over this row",
    }  # fmt: skip
    _results.write(model.file(RESULTS / "golden-path.json"), conditions, rows=rows)
    draw(rows, model.file(RESULTS / "golden-path.png"))


def draw(rows: list[dict], file: Path) -> None:
    """Draw how far the searched pairs are ahead of the baselines, a panel for each number of full
    steps."""
    from matplotlib.figure import Figure

    counts = sorted({row["full"] for row in rows}, reverse=True)
    pairs = sorted(
        {name for row in rows for name in row["ahead"]}, key=lambda n: int(n.split()[-1])
    )
    picture = Figure(figsize=(5 * len(counts), 3.5), dpi=110, layout="constrained")
    for axes, full in zip(picture.subplots(1, len(counts)), counts, strict=True):
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


if __name__ == "__main__":
    sys.exit(main())
