"""How much a library of a thousand paths delays a run, and how long a large file takes to read.

The start of a run, from the speed to the chosen schedule, with as many paths as a user may gather,
by turns with an empty library in one process. Nothing is sampled. It takes a minute.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import folder_paths
from golden_path_pack.gph_core.paths.golden_path import SEARCHED, GoldenPath
from golden_path_pack.gph_core.paths.library import bundled_paths
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.run_plan import by_speed
from golden_path_pack.nodes.hook import starting as hook
from golden_path_pack.nodes.library import user_paths

from benchmarks.lab import demo, report
from benchmarks.lab.lab import Lab

FILE = "library.json"
STEPS, CFG = 50, 5.0
COUNT, ROUNDS = 1000, 31
MOST_MS = 20.0  # beside an empty library
SETTLED_S = 3600  # as old as the files are: young ones are read again
NONE = "none"
LARGE = (1_200, 10_000)  # steps of a file
MOST_S_LARGE = 1.0


def measure(options) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        return {
            "libraries": report.printed(starts(Path(folder))),
            "large": report.printed(large(Path(folder) / "large", steps) for steps in LARGE),
        }


def misses(figures: dict) -> list[str]:
    slow = [one["library"] for one in figures["libraries"] if one["more ms"] > MOST_MS]
    large = (one for one in figures["large"] if one["read s"] > MOST_S_LARGE)
    return slow + [f"{one['steps']} steps" for one in large]


def conditions(options) -> dict:
    return {
        "machine": f"{os.cpu_count()} CPU cores, one thread, its time", "model": "demo model",
        "library": f"{COUNT} paths of {STEPS} steps; first: reading all; start: median of "
        f"{ROUNDS} starts of a run by turns, more: than with an empty library",
        "large": "a fitted path with three weights a step, every 8th step full; start: of a "
        "run of its model that does not take it",
    }  # fmt: skip


def starts(folder: Path) -> list[dict]:
    """A row for each library."""
    libraries = {name: written(folder / name, some) for name, some in kinds().items()}
    start, first = starting(), {}
    for name, library in libraries.items():
        first[name] = seconds(lambda library=library: start(library))
    found: dict[str, list[float]] = {name: [] for name in libraries}
    for _ in range(ROUNDS):
        for name, library in libraries.items():
            found[name].append(seconds(lambda library=library: start(library)))
    medians = {name: 1000 * statistics.median(values) for name, values in found.items()}
    return [
        {"library": name, "first s": round(first[name], 3), "start ms": round(one, 2),
         "more ms": round(one - medians[NONE], 2)}
        for name, one in medians.items()
    ]  # fmt: skip


def kinds() -> dict[str, list[GoldenPath]]:
    """Libraries whose paths never apply, so a run looks at all of them."""
    own = [path for path in bundled_paths() if path.family == "FLUX" and path.sigmas]
    fitted = next(
        path for path in own
        if isinstance(path.policy, Fitted)
        and (path.schedule.num_steps, path.schedule.num_full) == (STEPS, 13)
    )  # fmt: skip
    plain = replace(next(p for p in own if not isinstance(p.policy, Fitted)), origin=SEARCHED)
    assert isinstance(fitted.policy, Fitted)
    stated = {**fitted.policy.conditions, "cfg": 7.5}
    other = replace(fitted, policy=replace(fitted.policy, conditions=stated))
    model = {"family": other.family, "architecture": other.architecture}
    levels = tuple(level * 0.9 for level in other.sigmas)
    return {
        NONE: [],
        "other models": [replace(plain, architecture={"depth": 1})] * COUNT,
        "the model at other noise levels": [replace(plain, **model, sigmas=levels)] * COUNT,
        "weights for another CFG": [other] * COUNT,
    }


def written(users: Path, paths: Sequence[GoldenPath]) -> Path:
    """A user directory with copies of paths in old files."""
    folder = users / "golden_path" / "paths"
    folder.mkdir(parents=True)
    for number, path in enumerate(paths):
        file = folder / f"{number}.json"
        file.write_text(json.dumps(path.to_json(), indent=1), "utf-8")
        then = file.stat().st_mtime - SETTLED_S
        os.utime(file, (then, then))
    return users


def starting() -> Callable[[Path], None]:
    """Function that starts a run of the demo model with a user directory."""
    work = Lab(STEPS, CFG).workload(1, 1, held_out=False)
    plan = by_speed("Balanced", None, user_paths.every)

    def start(users: Path) -> None:
        folder_paths.set_user_directory(str(users))
        setup = replace(work.setup)  # without what is known of the run before
        run = hook.start(plan, demo.Silent(), setup, continues=False)
        assert run.schedule.num_full == 13

    return start


def large(users: Path, steps: int) -> dict:
    """A row for a large file."""
    full = range(0, steps, 8)
    weights = [
        [n, [[a, 0.333333333] for a in range(n - n % 8, -1, -8)[:3]]] for n in range(steps) if n % 8
    ]
    levels = [round(1 - n / steps, 6) for n in range(steps + 1)]
    model = next(path for path in bundled_paths() if isinstance(path.policy, Fitted))
    assert isinstance(model.policy, Fitted)
    conditions = {**model.policy.conditions, "sigmas": levels}
    policy = {"kind": "Fitted", "weights": weights, "conditions": conditions}
    schedule = f"{','.join(map(str, full))}/{steps}"
    path = GoldenPath.from_json(
        model.to_json() | {"schedule": schedule, "sigmas": levels, "policy": policy}
    )
    home = written(users / str(steps), [path])
    start = starting()
    first = seconds(lambda: start(home))
    (file,) = (home / "golden_path" / "paths").iterdir()
    again = statistics.median(seconds(lambda: start(home)) for _ in range(ROUNDS))
    return {
        "steps": steps, "KB": file.stat().st_size // 1000, "read s": round(first - again, 3),
        "start ms": round(1000 * again, 2),
    }  # fmt: skip


def seconds(work: Callable[[], None]) -> float:
    """CPU time of this thread, which other work on the machine affects least."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin
