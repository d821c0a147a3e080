"""Quality of the demo model's fitted paths on prompts that no search saw.

The searched paths are those that the pack brings along (``_fitted_paths``). Two controls have as
many evaluations: uniform spacing with residual reuse, and plain Euler steps. Every picture is
compared with the full run of its prompt and noise; gains are paired by prompt.

It takes about a quarter of an hour of one core; what was sampled is kept in ``.dev/``, so it may be
stopped. ``-- --family`` adds the best of the first spacings, without a search, and as a third
control plain steps of the best of six samplers. ``-- --search`` searches the paths anew before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import _demo, _fitted_paths, _results
from benchmarks._lab import SCHEDULER, Lab, Prompts
from benchmarks._results import interval
from benchmarks._shots import Shots, Way
from benchmarks._ways import PLAIN, UNIFORM, baselines, of_path
from gph_core.paths.golden_path import GoldenPath

RESULTS = Path(__file__).parent / "results"
PROMPTS = Prompts(unseen=200)
SOLVERS = ("euler", "dpmpp_2m", "uni_pc", "res_multistep", "deis", "ipndm")
SOLVER = "best plain sampler"
SEARCHED, FAMILY = "searched", "family"
FAMILY_COUNTS, FAMILY_CFGS = (5, 6, 8, 10, 13), (1.0, 3.0, 5.0)  # of 50 steps
CONTROL_COUNTS = (*FAMILY_COUNTS, 21)  # at which the best plain sampler is a control
# dB ahead: the mean, and the lower end of its interval.
BARS = {
    (SEARCHED, 5.0, UNIFORM): (3, 2), (SEARCHED, 5.0, PLAIN): (3, 2),
    (SEARCHED, 1.0, UNIFORM): (8, 0), (SEARCHED, 1.0, PLAIN): (4, 0),
}  # fmt: skip
FAMILY_BAR, FAMILY_SHARE = 1.5, 10 / 15  # dB ahead of both controls, in so many settings


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench fitted-paths", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--family", action="store_true", help="also paths without a search")
    parser.add_argument("--search", action="store_true", help="search the paths again")
    options = parser.parse_args()
    _demo.begin()
    if options.search:
        _fitted_paths.search(_fitted_paths.WANTED)
    found = []
    for kind, path in paths(options.family):
        found.append(row(kind, path))
        print(line(found[-1]), flush=True)
    print("\n" + table(found))
    missed = misses(found)
    print("\n".join(["", "missed bars:", *(missed or ["none"])]))
    if options.save:
        save(found)
    return int(options.check and bool(missed))


def paths(with_family: bool) -> Iterator[tuple[str, GoldenPath]]:
    """The searched paths, then the family's."""
    for path in _fitted_paths.load().values():
        yield SEARCHED, path
    for cfg in FAMILY_CFGS if with_family else ():
        for full in CONTROL_COUNTS:
            yield FAMILY, _fitted_paths.family(50, full, cfg)


def row(kind: str, path: GoldenPath) -> dict:
    """A path's PSNR on the unseen prompts, and how far it is ahead of each control."""
    steps, full = path.schedule.num_steps, path.schedule.num_full
    lab = lab_of(steps, float(path.conditions["CFG"]))
    scores = psnr(lab, of_path(path))
    controls = {way.name: psnr(lab, way) for way in baselines(steps, full)}
    solver = ""
    if kind == FAMILY:
        plain = {name: psnr(lab, plain_steps(name, full)) for name in SOLVERS}
        solver = max(plain, key=lambda name: plain[name].mean())
        controls[SOLVER] = plain[solver]
    return {
        "kind": kind, "steps": steps, "full": full, "cfg": lab.cfg,
        "schedule": str(path.schedule), "psnr": interval(scores), "sampler": solver,
        "controls": {name: interval(values) for name, values in controls.items()},
        "ahead": {name: interval(scores - values) for name, values in controls.items()},
    }  # fmt: skip


@cache
def lab_of(steps: int, cfg: float) -> Lab:
    """Lab of the unseen prompts."""
    return Lab(steps, cfg, prompts=PROMPTS)


def plain_steps(sampler: str, full: int) -> Way:
    """Way of as many plain steps of a sampler."""
    way = Way(PLAIN, f"{full} plain", None, full)
    if sampler == _demo.SAMPLER:
        return way
    return replace(way, key=f"{full} plain, {sampler}", sampler=sampler)


def psnr(lab: Lab, way: Way) -> np.ndarray:
    """dB ``[P]`` of the unseen prompts."""
    return np.array([shot.psnr for shot in _shots(lab).of(way, range(len(lab.unseen)))])


@cache
def _shots(lab: Lab) -> Shots:
    """Pictures of a lab, whose full runs are sampled once."""
    return Shots(lab)


def misses(found: list[dict]) -> list[str]:
    """Bars that are missed, in words."""
    words = []
    for one in found:
        for name, (mean, half) in one["ahead"].items():
            bar = BARS.get((one["kind"], one["cfg"], name)) if one["steps"] == 50 else None
            if bar and (mean < bar[0] or mean - half < bar[1]):
                words.append(f"{title(one)}: {mean:+.2f} ± {half:.2f} dB ahead of {name}")
            if one["kind"] == FAMILY and name == SOLVER and mean <= 0:
                words.append(f"{title(one)}: {mean:+.2f} ± {half:.2f} dB ahead of {name}")
    family = [o for o in found if o["kind"] == FAMILY and o["full"] in FAMILY_COUNTS]
    ahead = [o for o in family if min(o["ahead"][n][0] for n in (UNIFORM, PLAIN)) >= FAMILY_BAR]
    if len(ahead) < FAMILY_SHARE * len(family):
        words.append(f"the family is {FAMILY_BAR} dB ahead in {len(ahead)} of {len(family)} alone")
    return words


def title(one: dict) -> str:
    """Setting of a row."""
    return f"{one['kind']}, {one['full']} of {one['steps']}, CFG {one['cfg']:g}"


def line(one: dict) -> str:
    """A row as the run prints it."""
    ahead = ", ".join(f"{m:+.2f} ± {h:.2f} over {name}" for name, (m, h) in one["ahead"].items())
    return f"{title(one)}: {one['psnr'][0]:.2f} dB; {ahead} {one['sampler']}".rstrip()


def table(found: list[dict]) -> str:
    """Table of the rows as markdown."""
    head = ["path", "PSNR dB", f"over {UNIFORM}", f"over {PLAIN}", f"over {SOLVER}", "schedule"]
    lines = [head, ["---"] * len(head)]
    for one in found:
        gains = [one["ahead"].get(name) for name in (UNIFORM, PLAIN, SOLVER)]
        cells = ["" if g is None else f"{g[0]:+.2f} ± {g[1]:.2f}" for g in gains]
        if one["sampler"]:
            cells[-1] += f" ({one['sampler']})"
        lines.append([title(one), f"{one['psnr'][0]:.2f}", *cells, one["schedule"]])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def save(found: list[dict]) -> None:
    """Write figures with their conditions."""
    conditions = {
        "model": "demo model", "sampling": f"{_demo.SAMPLER}, {SCHEDULER}",
        "prompts": f"{PROMPTS.unseen} held out of training and search, one noise each; "
        f"weights fitted on {_fitted_paths.SCORING} others",
        "unit": "PSNR in dB of 8-bit images to the full run: mean and half of its 95 % interval by "
        "Student's t over the prompts; ahead: the path over the control, paired by prompt",
    }  # fmt: skip
    _results.write(RESULTS / "fitted-path-scores.json", conditions, rows=found)


if __name__ == "__main__":
    sys.exit(main())
