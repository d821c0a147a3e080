"""Quality of the demo model's fitted paths on prompts that no search saw.

The searched paths are those that the pack brings along (``_fitted_paths``). Two controls have as
many evaluations: uniform spacing with residual reuse, and plain Euler steps. Every picture is
compared with the full run of its prompt and noise; gains are paired by prompt.

It takes about a quarter of an hour of one core; what was sampled is kept in ``.dev/``, so it may be
stopped. ``-- --family`` adds the best of the first spacings, without a search, and as a third
control plain steps of the best of six samplers. ``-- --search`` searches the paths anew before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from golden_path_pack.gph_core.paths.golden_path import GoldenPath

from benchmarks.lab import demo, fitted, report
from benchmarks.lab.lab import Lab, Prompts
from benchmarks.lab.results import interval, seen
from benchmarks.lab.shots import Shots, Way
from benchmarks.lab.ways import PLAIN, UNIFORM, baselines, of_path, plain_steps

FILE = "fitted-path-scores.json"
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


def add_options(parser) -> None:
    parser.add_argument("--family", action="store_true", help="also paths without a search")
    parser.add_argument("--search", action="store_true", help="search the paths again")


def measure(options) -> dict:
    if options.search:
        fitted.search(fitted.WANTED)
    return {"rows": report.printed(row(kind, path) for kind, path in paths(options.family))}


def paths(with_family: bool) -> Iterator[tuple[str, GoldenPath]]:
    """The searched paths, then the family's."""
    for path in fitted.load().values():
        yield SEARCHED, path
    for cfg in FAMILY_CFGS if with_family else ():
        for full in CONTROL_COUNTS:
            yield FAMILY, fitted.family(50, full, cfg)


def row(kind: str, path: GoldenPath) -> dict:
    """A path's PSNR on the unseen prompts, and how far it is ahead of each control."""
    steps, full = path.schedule.num_steps, path.schedule.num_full
    lab = lab_of(steps, float(path.conditions["CFG"]))
    scores = psnr(lab, of_path(path))
    controls = {way.name: psnr(lab, way) for way in baselines(steps, full)}
    solver = ""
    if kind == FAMILY:
        plain = {
            name: psnr(lab, plain_steps(full, "" if name == demo.SAMPLER else name))
            for name in SOLVERS
        }
        solver = max(plain, key=lambda name: plain[name].mean())
        controls[SOLVER] = plain[solver]
    return {
        "kind": kind, "steps": steps, "full": full, "cfg": lab.cfg,
        "schedule": str(path.schedule), "psnr": interval(scores), **seen(scores), "sampler": solver,
        "controls": {name: interval(values) for name, values in controls.items()},
        "ahead": {name: interval(scores - values) for name, values in controls.items()},
    }  # fmt: skip


@cache
def lab_of(steps: int, cfg: float) -> Lab:
    """Lab of the unseen prompts."""
    return Lab(steps, cfg, prompts=PROMPTS)


def psnr(lab: Lab, way: Way) -> np.ndarray:
    """dB ``[P]`` of the unseen prompts."""
    return np.array([shot.psnr for shot in _shots(lab).of(way, range(len(lab.unseen)))])


@cache
def _shots(lab: Lab) -> Shots:
    """Pictures of a lab, whose full runs are sampled once."""
    return Shots(lab)


def misses(figures: dict) -> list[str]:
    found, words = figures["rows"], []
    for one in found:
        for name, (mean, half) in one["ahead"].items():
            bar = BARS.get((one["kind"], one["cfg"], name)) if one["steps"] == 50 else None
            is_behind = one["kind"] == FAMILY and name == SOLVER and mean <= 0
            if is_behind or (bar and (mean < bar[0] or mean - half < bar[1])):
                words.append(f"{title(one)}: {report.within((mean, half))} dB ahead of {name}")
    family = [o for o in found if o["kind"] == FAMILY and o["full"] in FAMILY_COUNTS]
    ahead = [o for o in family if min(o["ahead"][n][0] for n in (UNIFORM, PLAIN)) >= FAMILY_BAR]
    if len(ahead) < FAMILY_SHARE * len(family):
        words.append(f"the family is {FAMILY_BAR} dB ahead in {len(ahead)} of {len(family)} alone")
    return words


def title(one: dict) -> str:
    """Setting of a row."""
    return f"{one['kind']}, {one['full']} of {one['steps']}, CFG {one['cfg']:g}"


def summary(figures: dict) -> str:
    head = [
        "path",
        "PSNR dB",
        "worst tenth",
        "good",
        f"over {UNIFORM}",
        f"over {PLAIN}",
        f"over {SOLVER}",
        "sampler",
    ]
    lines = [
        [
            title(one), f"{one['psnr'][0]:.2f}", one["worst tenth"], f"{one['good']:.0%}",
            *(report.within(one["ahead"].get(name)) for name in (UNIFORM, PLAIN, SOLVER)),
            one["sampler"], one["schedule"],
        ]
        for one in figures["rows"]
    ]  # fmt: skip
    return report.table([*head, "schedule"], lines)


def conditions(options) -> dict:
    return {
        "model": "demo model", "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER}",
        "prompts": f"{PROMPTS.unseen} held out of training and search, one noise each; "
        f"weights fitted on {fitted.SCORING} others",
        "unit": "PSNR in dB of 8-bit images to the full run: mean and half of its 95 % interval by "
        "Student's t over the prompts; ahead: the path over the control, paired by prompt",
    }  # fmt: skip
