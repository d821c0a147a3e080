"""A space of schedules, all scored on each of some prompts held out of training.

20 steps, 7 full, of which 0, 1 and 19 are fixed: 2380 schedules under residual reuse. Half of the
prompts are for choosing schedules, the others for what the chosen ones are worth.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from golden_path_pack.gph_core.experiments.examples import UnderPolicy
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace, uniform

from benchmarks.lab import demo
from benchmarks.lab.lab import Lab
from benchmarks.lab.memory import Memory
from benchmarks.study.work import Work

SPACE, PROMPTS = ScheduleSpace(20, 13, (0, 1, 19)), 64
QUICK_SPACE, QUICK_PROMPTS = ScheduleSpace(8, 4, (0, 7)), 6
METRICS = ("psnr", "ssim", "latent_mse")
DIGITS = 6  # of each value that is kept


@dataclass(frozen=True)
class SpaceTable:
    """Quality of every schedule, in the order of the space.

    Args:
        metrics: ``[S, P]`` by name.
    """

    space: ScheduleSpace
    metrics: dict[str, np.ndarray]

    @property
    def scoring(self) -> np.ndarray:
        """PSNR ``[S, P / 2]`` on the prompts that schedules are chosen on."""
        psnr = self.metrics["psnr"]
        return psnr[:, : psnr.shape[1] // 2]

    @property
    def new(self) -> np.ndarray:
        """PSNR ``[S, P / 2]`` on the others."""
        psnr = self.metrics["psnr"]
        return psnr[:, psnr.shape[1] // 2 :]

    @property
    def uniform(self) -> int:
        """The row of uniform spacing."""
        n, first = self.space.num_steps, self.space.free_steps[0]
        return list(self.space).index(uniform(n, n - self.space.num_cached, first))


def load(work: Work) -> SpaceTable:
    """The table; missing values are measured."""
    space = work.size(SPACE, QUICK_SPACE)
    lab, prompts = work.lab(space.num_steps), work.size(PROMPTS, QUICK_PROMPTS)
    known = Memory(work.memory / "table.jsonl")
    _measure(lab, space, prompts, known)
    values = np.concatenate(
        [
            np.concatenate([known[_key(space, *unit)] for unit in units], axis=0)
            for units in _units(space, prompts)
        ],
        axis=1,
    )
    return SpaceTable(space, {name: values[:, :, n] for n, name in enumerate(METRICS)})


def _units(space: ScheduleSpace, prompts: int) -> Iterator[list[tuple[int, int, int]]]:
    """Units of measurement by batch of prompts: first prompt, end, first free step."""
    firsts = list(dict.fromkeys(_first_free(space, schedule) for schedule in space))
    for begin in range(0, prompts, demo.BATCH):
        end = min(begin + demo.BATCH, prompts)
        yield [(begin, end, first) for first in firsts]


def _first_free(space: ScheduleSpace, schedule: Schedule) -> int:
    return space.movable_steps(schedule)[0]


def _key(space: ScheduleSpace, begin: int, end: int, first: int) -> str:
    fixed = ",".join(map(str, space.required_full))
    return f"{space.num_cached} of {space.num_steps}, {fixed} full: {begin}-{end}, {first}"


def _measure(lab: Lab, space: ScheduleSpace, prompts: int, known: Memory) -> None:
    wanted = [unit for units in _units(space, prompts) for unit in units]
    # In any order, so that two processes seldom measure the same.
    random.Random().shuffle(wanted)
    examples = None
    for number, unit in enumerate(wanted):
        known.refresh()
        if _key(space, *unit) in known:
            continue
        examples = examples or UnderPolicy(lab.runner(lab.unseen), Reuse(), demo.STATE_BYTES)
        begin, end, first = unit
        here = [s for s in space if _first_free(space, s) == first]
        with torch.inference_mode():
            found = [examples.measure(s, range(begin, end)) for s in here]
        rows = [[_values(metrics) for metrics in result.metrics] for result in found]
        known.keep({_key(space, *unit): rows})
        print(f"table: {number + 1} of {len(wanted)} parts", flush=True)


def _values(metrics) -> list[float]:
    capped = {**metrics, "psnr": min(metrics["psnr"], demo.PSNR_OF_EQUAL)}
    return [float(f"{capped[name]:.{DIGITS}g}") for name in METRICS]
