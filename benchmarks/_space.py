"""A space of the demo model's schedules of which every single one is scored.

20 steps, 7 full, of which 0, 1 and 19 are fixed: 2380 schedules, each on 8 prompts with residual
reuse. Searches can then be compared on a table, with the best schedule known.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from benchmarks import _demo, _results
from gph_core.schedule import Schedule, ScheduleSpace

FILE = Path(__file__).parent / "results" / "search-space.safetensors"
SPACE = ScheduleSpace(20, 13, (0, 1, 19))
PROMPTS, SEED = 8, 1
SCHEDULER = "simple"


def score() -> None:
    """Score every schedule and write ``FILE``."""
    from golden_path_pack.gph_core.policies.extrapolation import Reuse
    from golden_path_pack.gph_core.search.prefix import PrefixMemory

    prompts = _demo.captions(PROMPTS, SEED, held_out=False)
    examples = _demo.examples(prompts, SEED, SCHEDULER, SPACE.num_steps)
    examples = examples.under(Reuse(), PrefixMemory(2**30))
    values, began = [], time.perf_counter()
    with torch.inference_mode():
        for number, schedule in enumerate(SPACE):
            found = examples.measure(_demo.of_pack(schedule), range(PROMPTS))
            values.append([metrics["psnr"] for metrics in found.metrics])
            if number % 100 == 99:
                left = (time.perf_counter() - began) / (number + 1) * (SPACE.size - number - 1)
                print(f"{number + 1} of {SPACE.size}, {left / 60:.0f} minutes left", flush=True)
    conditions = {
        "model": "demo model", "sampling": f"{_demo.SAMPLER}, {SCHEDULER}, CFG {_demo.CFG:g}",
        "policy": "residual reuse", "space": "20 steps, 7 full, 0, 1 and 19 fixed, lexicographic",
        "values": "PSNR in dB to the full run, a row a schedule, a column a prompt",
        **_results.versions("demo model"), "prompts": json.dumps(prompts), "first seed": str(SEED),
    }  # fmt: skip
    save_file({"psnr": torch.tensor(values, dtype=torch.float32)}, FILE, conditions)


def load() -> dict[Schedule, np.ndarray]:
    """PSNR of every prompt, by schedule."""
    with safe_open(FILE, "np") as file:
        return dict(zip(SPACE, file.get_tensor("psnr").astype(np.float64), strict=True))
