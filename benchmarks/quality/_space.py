"""A space of the demo model's schedules, all of which are scored.

20 steps, 7 full, of which 0, 1 and 19 are fixed: 2380 schedules, each on 8 prompts with residual
reuse. Searches can then be compared on a table, with the best schedule known.
"""

from __future__ import annotations

import json
import time

import numpy as np
import torch
from golden_path_pack.gph_core.experiments.examples import UnderPolicy
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace
from safetensors import safe_open
from safetensors.torch import save_file

from benchmarks.lab import demo, results
from benchmarks.lab.lab import Lab

FILE = results.FOLDER / "search-space.safetensors"
SPACE = ScheduleSpace(20, 13, (0, 1, 19))
PROMPTS, SEED = 8, 1


def score() -> None:
    """Score every schedule and write ``FILE``."""
    lab, values, began = Lab(SPACE.num_steps, demo.CFG), [], time.perf_counter()
    work = lab.workload(PROMPTS, SEED, held_out=False)
    examples = UnderPolicy(lab.runner(work), Reuse(), demo.STATE_BYTES)
    with torch.inference_mode():
        for number, schedule in enumerate(SPACE):
            found = examples.measure(schedule, range(PROMPTS))
            values.append([metrics["psnr"] for metrics in found.metrics])
            if number % 100 == 99:
                left = (time.perf_counter() - began) / (number + 1) * (SPACE.size - number - 1)
                print(f"{number + 1} of {SPACE.size}, {left / 60:.0f} minutes left", flush=True)
    conditions = {
        "model": "demo model", "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER}, CFG {demo.CFG:g}",
        "policy": "residual reuse", "space": "20 steps, 7 full, 0, 1 and 19 fixed, lexicographic",
        "values": "PSNR in dB to the full run, a row a schedule, a column a prompt",
        **results.versions("demo model"), "prompts": json.dumps([e.prompt for e in work.examples]),
        "first seed": str(1000 * SEED),
    }  # fmt: skip
    save_file({"psnr": torch.tensor(values, dtype=torch.float32)}, FILE, conditions)


def load() -> dict[Schedule, np.ndarray]:
    """PSNR of every prompt, by schedule."""
    with safe_open(FILE, "np") as file:
        return dict(zip(SPACE, file.get_tensor("psnr").astype(np.float64), strict=True))
