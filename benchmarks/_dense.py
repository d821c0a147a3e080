"""Searches among the schedules of 50 steps, which are too many to score them all.

50 steps, 9 full, of which 0, 1, 2 and 49 are fixed: 1,370,754 schedules. A random sample of them
says what is usual there; the searches begin at random, too.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import torch

from benchmarks import _demo, _results
from gph_core.schedule import ScheduleSpace, uniform

FILE = Path(__file__).parent / "results" / "search-50-steps.json"
STEPS, FULL, SCHEDULER = 50, 9, "simple"
SPACE = ScheduleSpace(STEPS, STEPS - FULL, (0, 1, 2, STEPS - 1))
SAMPLE = 400
PROMPTS, SEED = 8, 1
SEEDS = 5
SHARES = (50, 90, 99)  # percentiles of the sample
SETTINGS = {  # proposals of a chain, whether states are kept and schedules raced
    "annealing": (200, False),
    "recommended": (100, True),
}


def measure() -> None:
    """Score the sample, search with every seed, and write ``FILE``."""
    prompts = _demo.captions(PROMPTS, SEED, held_out=False)
    examples = _demo.examples(prompts, SEED, SCHEDULER, STEPS)
    with torch.inference_mode():
        sample = _sample(examples)
        best = float(sample.max())
        runs = [
            {"search": name, "seed": seed, **summary(_course(examples, name, seed), sample)}
            for name in SETTINGS
            for seed in range(SEEDS)
        ]
    conditions = {
        "model": "demo model", "sampling": f"{_demo.SAMPLER}, {SCHEDULER}, CFG {_demo.CFG:g}",
        "space": f"{SPACE.size} schedules: {STEPS} steps, {FULL} full, 0, 1, 2 and 49 fixed",
        "policy": "residual reuse", "prompts": PROMPTS, "values": "mean PSNR in dB",
        "full steps": "transformer evaluations at full compute, of all examples",
        **_results.versions("demo model"),
    }  # fmt: skip
    sample = {
        "schedules": SAMPLE, "best": round(best, 3), "uniform": round(_mean(examples), 3),
        **{f"percentile {q}": round(float(np.percentile(sample, q)), 3) for q in SHARES},
    }  # fmt: skip
    lines = ",\n".join(map(json.dumps, runs))
    text = f'{{"conditions": {json.dumps(conditions)},\n"sample": {json.dumps(sample)},\n'
    FILE.write_text(f'{text}"runs": [\n{lines}\n]}}\n', "utf-8")
    print(sample, *runs, sep="\n", flush=True)


def summary(course: list[tuple[float, float]], sample: np.ndarray) -> dict:
    """Full steps and best score of a search, and full steps until it was ahead of the sample.

    Args:
        course: full steps so far and best mean, after each improvement and at the end.
        sample: means of random schedules.
    """
    spent, end = course[-1]
    ahead = next((cost for cost, mean in course if mean > sample.max()), None)
    return {"full steps": spent, "best": round(end, 3), "ahead of the sample after": ahead}


def _sample(examples) -> np.ndarray:
    from golden_path_pack.gph_core.policies.extrapolation import Reuse
    from golden_path_pack.gph_core.search.prefix import PrefixMemory

    rng = random.Random(SEED)
    drawn: dict = {}
    while len(drawn) < SAMPLE:
        drawn[SPACE.sample(rng)] = None
    known = examples.under(Reuse(), PrefixMemory(2**30))
    # In order, so that neighbors share states.
    return np.array([_mean(known, schedule) for schedule in sorted(drawn, key=str)])


def _mean(examples, schedule=None) -> float:
    wanted = _demo.of_pack(schedule or uniform(STEPS, FULL))
    found = examples.measure(wanted, range(PROMPTS))
    return float(np.mean([metrics["psnr"] for metrics in found.metrics]))


def _course(examples, name: str, seed: int) -> list[tuple[float, float]]:
    from golden_path_pack.gph_core.policies.extrapolation import Reuse
    from golden_path_pack.gph_core.schedule import ScheduleSpace
    from golden_path_pack.gph_core.search.algorithms.table import ALGORITHMS, DEFAULT, Setup
    from golden_path_pack.gph_core.search.budget import Budget
    from golden_path_pack.gph_core.search.judge import Race
    from golden_path_pack.gph_core.search.prefix import PrefixMemory
    from golden_path_pack.gph_core.search.study import Study

    proposals, saves = SETTINGS[name]
    course: list[tuple[float, float]] = []

    def follow(_schedule, score) -> None:
        if score.is_whole and (not course or score.mean > course[-1][1]):
            course.append((round(study.full_steps), score.mean))

    study = Study(
        examples.under(Reuse(), PrefixMemory(2**30) if saves else None),
        budget=Budget(evaluations=proposals),
        race=Race() if saves else None,
        stops_when_stalled=False,
        on_score=follow,
    )
    space = ScheduleSpace(STEPS, STEPS - FULL, tuple(SPACE.required_full))
    setup = Setup(num_proposals=proposals)
    study.run(ALGORITHMS[DEFAULT].start(space, random.Random(seed), [], setup))
    return [*course, (round(study.full_steps), course[-1][1])]
