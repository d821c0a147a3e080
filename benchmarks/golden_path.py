"""What searched golden paths of the demo model are worth on prompts that no search saw.

The pairs of schedule and policy of ``_paths`` (searched on 8, 32 or 128 prompts, validated on
others) against controls with as many full steps, on 200 held-out prompts with three noises each.
Every picture is compared with the full run of its prompt and noise. Gains are paired by prompt;
their 95 % intervals are bootstrapped over the prompts. *Plain steps* is a run of just as many
steps; *random* draws a schedule for every 8 pictures; *published, moved* is FLUX.1-dev's path on
the demo model's noise levels. Policies that no search delivered are compared on the first noise
alone.

It takes two to three hours of one core; what was sampled is kept in ``.dev/``, so it may be
stopped. ``-- --search`` searches the paths anew before.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks import _demo, _paths
from benchmarks._memory import Memory
from benchmarks._search import FORCED
from demo.comfyui import load_pack, use_comfyui
from demo.sampling import sigmas as noise_levels
from gph_core.paths.library import bundled_paths
from gph_core.paths.retarget import retarget
from gph_core.quality.resampling import RESAMPLES, bootstrapped
from gph_core.schedule import Schedule, ScheduleSpace, uniform

RESULTS = Path(__file__).parent / "results"
SAMPLED = _paths.MEMORY / "pictures.jsonl"
PROMPTS, CAPTION_SEED = 200, 3
NOISES = (10_000, 20_000, 30_000)  # seed of the first prompt's noise
BAR = 0.5  # dB ahead of uniform spacing and of plain steps
UNIFORM, PLAIN = "uniform", "plain steps"
RANDOM, MOVED = "random", "published, moved"
CONTROLS = (UNIFORM, PLAIN, RANDOM, MOVED)
NO_POLICY = "none"
PAPERS = 8  # scoring prompts in the seed paper


def searched(scoring: int) -> str:
    """The name of what a search on some prompts found."""
    return f"searched on {scoring}"


@dataclass(frozen=True)
class Way:
    """A way of sampling with some full steps."""

    num_full: int
    name: str
    policy: str


Scores = dict[Way, np.ndarray]  # dB [P, S] of prompts and noises


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench golden-path", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--search", action="store_true", help="search the paths again")
    options = parser.parse_args()
    use_comfyui("--cpu")
    torch.set_num_threads(1)
    load_pack()
    if options.search:
        _paths.search()
    found = _paths.load()
    rows = summary(sample(found), found)
    print(table(rows))
    if options.save:
        save(rows)
    missed = misses(rows, found)
    print("\n".join(["", f"less than {BAR} dB ahead:", *(missed or ["none"])]))
    return int(options.check and bool(missed))


def sample(found: list[_paths.Found]) -> Scores:
    """dB of every way on every picture; what is known from an earlier run is not sampled again."""
    prompts = _demo.captions(PROMPTS, CAPTION_SEED, held_out=True)
    known = Memory(SAMPLED)
    chunks: dict[Way, dict[tuple[int, int], list[float]]] = {}
    for first in range(0, PROMPTS, _demo.BATCH):
        for noise in NOISES:
            wanted = dict(ways(found, first, noise))
            some = prompts[first : first + _demo.BATCH]
            values = measured(known, some, noise + first, wanted)
            for way, decibels in values.items():
                chunks.setdefault(way, {})[first, noise] = decibels
        print(f"{first + _demo.BATCH} of {PROMPTS} prompts", flush=True)
    return {way: matrix(parts) for way, parts in chunks.items()}


def matrix(parts: dict[tuple[int, int], list[float]]) -> np.ndarray:
    """``[P, S]`` of the lists of a first prompt and a noise each."""
    columns = [
        [value for (_, seed), values in sorted(parts.items()) if seed == noise for value in values]
        for noise in NOISES
    ]
    return np.array([column for column in columns if column]).T


def ways(
    found: list[_paths.Found], first: int, noise: int
) -> Iterator[tuple[Way, tuple[Schedule | int, str]]]:
    """What is sampled for one chunk of pictures: a schedule, or a number of plain steps, and the
    policy."""
    pairs = {(path.full, path.policy) for path in found}
    for path in found:
        full, pair, even = path.full, path.policy, uniform(_paths.STEPS, path.full)
        yield Way(full, PLAIN, NO_POLICY), (full, NO_POLICY)
        yield Way(full, RANDOM, pair), (drawn(full, f"{first} {noise}"), pair)
        yield Way(full, MOVED, pair), (moved(full), pair)
        for policy, schedule in path.schedules.items():
            if (full, policy) in pairs or noise == NOISES[0]:
                yield Way(full, UNIFORM, policy), (even, policy)
            if policy == pair or (noise == NOISES[0] and path.scoring == PAPERS):
                yield Way(full, searched(path.scoring), policy), (schedule, policy)


def drawn(full: int, seed: str) -> Schedule:
    """A random schedule of the space that is searched."""
    space = ScheduleSpace(_paths.STEPS, _paths.STEPS - full, FORCED)
    return space.sample(random.Random(f"{full} {seed}"))


def moved(full: int) -> Schedule:
    """The path that was published for FLUX.1-dev, on the noise levels of the demo model."""
    published = Schedule.parse(_paths.PUBLISHED[full])
    (source,) = {p.sigmas for p in bundled_paths() if p.schedule == published and p.sigmas}
    return retarget(published, source, noise_levels(_paths.STEPS).tolist(), min_anchors=3)


def measured(
    known: Memory, prompts: list[str], seed: int, wanted: dict[Way, tuple[Schedule | int, str]]
) -> dict[Way, list[float]]:
    """dB of each way for some prompts, the first with the noise of ``seed``."""
    keys = {way: f"{seed}: {what}, {policy}" for way, (what, policy) in wanted.items()}
    missing = {keys[way]: wanted[way] for way in wanted if keys[way] not in known}
    if missing:
        pictures = _demo.Pictures(prompts, seed)
        reference = pictures.sample(_paths.SCHEDULER, _paths.STEPS)
        found = {
            key: _decibels(pictures, reference, what, policy)
            for key, (what, policy) in missing.items()
        }
        known.keep(found)
    return {way: known[key] for way, key in keys.items()}


def _decibels(pictures, reference, what: Schedule | int, policy: str) -> list[float]:
    if isinstance(what, int):
        images = pictures.sample(_paths.SCHEDULER, what)
    else:
        images = pictures.sample(_paths.SCHEDULER, _paths.STEPS, what, _paths.policies()[policy])
    return [round(value, 3) for value in _demo.psnr(images, reference).tolist()]


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean of values ``[P]`` or ``[P, S]``, with its 95 % interval over the prompts."""
    mean, low, high = bootstrapped(values)
    return round(mean, 3), round(low, 3), round(high, 3)


def summary(scores: Scores, found: list[_paths.Found]) -> list[dict]:
    """A row for each way: its mean, and how far each searched pair is ahead, with intervals."""
    schedules = {
        Way(path.full, searched(path.scoring), policy): str(schedule)
        for path in found
        for policy, schedule in path.schedules.items()
    }
    rows = []
    for way, values in scores.items():
        pairs = {Way(p.full, searched(p.scoring), p.policy): p for p in found}
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


def misses(rows: list[dict], found: list[_paths.Found]) -> list[str]:
    """Which searched pairs are not ahead of both controls by the bar, in words."""
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
    """As markdown, the best of each number of full steps first."""
    pairs = sorted({name for row in rows for name in row["ahead"]})
    head = ["full", "schedule", "policy", "PSNR dB", *(f"{name} ahead" for name in pairs)]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        name = f"**{row['name']}**" if row["is_pair"] else row["name"]
        ahead = (row["ahead"].get(pair) for pair in pairs)
        gains = ("" if g is None else f"{g[0]:+.2f} ({g[1]:+.2f} to {g[2]:+.2f})" for g in ahead)
        lines.append([str(row["full"]), name, row["policy"], f"{row['psnr'][0]:.2f}", *gains])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def save(rows: list[dict]) -> None:
    """Write figures and picture, with their conditions."""
    from comfyui_version import __version__

    conditions = {
        "model": "demo model", "steps": _paths.STEPS,
        "sampling": f"{_demo.SAMPLER}, {_paths.SCHEDULER}, CFG {_demo.CFG:g}",
        "prompts": f"{PROMPTS} held out of training and search, {len(NOISES)} noises each",
        "unit": "PSNR in dB of 8-bit images to the full run: mean, and 95 % interval of a "
        f"bootstrap over prompts ({RESAMPLES} resamples); ahead: the searched pair over this row",
        "torch": torch.__version__, "comfyui": __version__,
    }  # fmt: skip
    lines = ",\n".join(map(json.dumps, rows))
    text = f'{{"conditions": {json.dumps(conditions)},\n"rows": [\n{lines}\n]}}\n'
    (RESULTS / "golden-path.json").write_text(text, "utf-8")
    draw(rows)


def draw(rows: list[dict]) -> None:
    """How far the searched pairs are ahead of the controls, a panel for each number of full
    steps."""
    from matplotlib.figure import Figure

    counts = sorted({row["full"] for row in rows}, reverse=True)
    pairs = sorted(
        {name for row in rows for name in row["ahead"]}, key=lambda n: int(n.split()[-1])
    )
    picture = Figure(figsize=(5 * len(counts), 3.5), dpi=110, layout="constrained")
    for axes, full in zip(picture.subplots(1, len(counts)), counts, strict=True):
        controls = [r for r in rows if r["full"] == full and r["name"] in CONTROLS]
        here = [pair for pair in pairs if pair in controls[0]["ahead"]]
        for number, pair in enumerate(here):
            mean, low, high = np.array([row["ahead"][pair] for row in controls]).T
            places = np.arange(len(controls)) + 0.2 * (number - (len(here) - 1) / 2)
            color = f"C{pairs.index(pair)}"
            errors = (mean - low, high - mean)
            axes.errorbar(mean, places, xerr=errors, fmt="o", color=color, label=pair)
        axes.axvline(0, color="#999999", linewidth=1)
        labels = [f"{row['name']}, {row['policy']}".removesuffix(", none") for row in controls]
        axes.set_yticks(range(len(controls)), labels, fontsize=8)
        axes.set_title(f"{full} of {_paths.STEPS} steps full")
        axes.set_xlabel("ahead of the control, dB")
        axes.legend(fontsize=8)
    picture.savefig(RESULTS / "golden-path.png")


if __name__ == "__main__":
    sys.exit(main())
