"""What a run that is remembered costs beyond its full steps.

Timed are the parts that the pack adds to a full run: its look at the settings before the first
step, the copies of the states, and the file. They are compared with the run itself. The settings'
fingerprint reads some numbers of every weight, so it takes as long for a short run as for a long
one. The models are those of ``bench cache``, with random weights, which do not change the time; on
a CPU it takes two minutes of one core.
"""

from __future__ import annotations

import platform
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import comfy.model_management
import torch
from golden_path_pack.gph_core.run_plan import by_count
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.learn.learner import Learner
from golden_path_pack.nodes.learn.remembered import REMEMBERED, Recorder
from golden_path_pack.nodes.learn.settings import learning_folder

from benchmarks import ON_GPU
from benchmarks.cost import _models as models
from benchmarks.lab import report
from benchmarks.lab.demo import Silent
from benchmarks.learning._learned import fresh_library

FILE = f"recording-{'gpu' if ON_GPU else 'cpu'}.json"
STEPS, FULL = 20, 8
MOST_SHARE = 0.01  # of a full run
PARTS = ("settings", "states", "file")


class Bill(defaultdict):
    """Seconds by part."""

    def __init__(self) -> None:
        super().__init__(float)

    def learned(self, name: str) -> None:
        """Ignore it."""

    def fitting(self, line: str) -> None:
        """Ignore it."""

    def timed(self, part: str, work: Callable) -> Callable:
        """A function whose seconds count for a part."""

        def working(*args: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return work(*args, **options)
            finally:
                self[part] += time.perf_counter() - begin

        return working


@contextmanager
def timing(bill: Bill) -> Iterator[None]:
    """Time what the pack adds to a run, in the block."""
    places = (
        (Learner, "lesson", "settings"), (Recorder, "keep", "states"),
        (type(REMEMBERED), "add", "file"),
    )  # fmt: skip
    before = [getattr(owner, name) for owner, name, _ in places]
    try:
        for (owner, name, part), work in zip(places, before, strict=True):
            setattr(owner, name, bill.timed(part, work))
        yield
    finally:
        for (owner, name, _), work in zip(places, before, strict=True):
            setattr(owner, name, work)


def measure(options) -> dict[str, Any]:
    return {"models": report.printed(map(figures, models.REAL if ON_GPU else models.SMALL))}


def figures(case: models.Benchmarked) -> dict:
    """Seconds of a full run that is remembered, and of its parts."""
    dtype = torch.bfloat16 if ON_GPU else torch.float32
    model = models.build(case, dtype, comfy.model_management.get_torch_device())
    models.sample(case, model, 3)  # warms up
    bill, reporter = Bill(), Silent()
    with fresh_library():
        learned = patching.attach(
            model, by_count(FULL, None, ()), reporter, learner=Learner(8, bill)
        )  # fmt: skip
        with timing(bill):
            begin = time.perf_counter()
            models.sample(case, learned, STEPS)
            run = time.perf_counter() - begin
            added = {part: bill[part] for part in PARTS}
            size = sum(file.stat().st_size for file in learning_folder().rglob("*.safetensors"))
        for folder in list(learning_folder().iterdir()):
            REMEMBERED.forget(folder)
    full = run - sum(added.values())
    return {
        "model": case.name, "full run": round(full, 3),
        **{part: round(seconds, 4) for part, seconds in added.items()},
        "share": round(sum(added.values()) / full, 4), "MiB": round(size / 2**20, 1),
    }  # fmt: skip


def misses(figures: dict[str, Any]) -> list[str]:
    """Models of which recording takes a larger share than it may."""
    return [
        f"{row['model']}: recording takes {row['share']:.2%} of a full run"
        for row in figures["models"]
        if row["share"] > MOST_SHARE
    ]


def summary(figures: dict[str, Any]) -> str:
    rows = figures["models"]
    return report.table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])


def conditions(options) -> dict[str, Any]:
    return {
        "device": torch.cuda.get_device_name() if ON_GPU else "CPU, 1 thread",
        "machine": platform.machine(),
        "sampling": f"euler, simple, CFG 1, batch 1, {STEPS} steps",
        "unit": "seconds; share: of the parts in the full run",
    }  # fmt: skip
