"""Isolated steps, decomposed runs and pictures of a lab's new prompts; all are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from golden_path_pack.gph_core.analysis.decomposition import Decomposition
from golden_path_pack.gph_core.analysis.isolated_steps import IsolatedStep, measured_steps
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.analyze import decomposing
from golden_path_pack.nodes.analyze.isolating import isolate, new_run

from benchmarks.lab.lab import Lab
from benchmarks.lab.memory import Memory
from benchmarks.lab.shots import Shot, Shots
from benchmarks.lab.ways import fixed


def isolated(lab: Lab, policy, numbers: Sequence[int]) -> list[list[IsolatedStep]]:
    """Every step of each prompt cached alone; its feature error over any distance, too."""

    def measured(number: int) -> list[dict]:
        found, run = [], new_run(lab.unseen, policy, reach=lab.steps - 1)
        isolate(lab.unseen, number, run, measured_steps(lab.steps), found.append)
        return [step.to_dict() for step in found]

    known = Memory(lab.memory / "isolated.jsonl")
    data = _kept(known, f"{lab}: {policy}", numbers, measured)
    return [[IsolatedStep.from_dict(step) for step in steps] for steps in data]


def decomposed(lab: Lab, schedule: Schedule, numbers: Sequence[int]) -> list[Decomposition]:
    """A run of each prompt under a schedule with residual reuse."""
    way = fixed("schedule", schedule, Reuse())

    def measured(number: int) -> dict:
        return decomposing.decomposed(lab.unseen, number, way.plan).to_dict()

    known = Memory(lab.memory / "decompositions.jsonl")
    return list(map(Decomposition.from_dict, _kept(known, f"{lab}: {way.key}", numbers, measured)))


def shots(lab: Lab, schedule: Schedule, policy, numbers: Sequence[int]) -> list[Shot]:
    """Pictures of some prompts under a schedule."""
    return Shots(lab).of(fixed("schedule", schedule, policy), numbers)


def _kept(
    known: Memory, what: str, numbers: Sequence[int], measured: Callable[[int], Any]
) -> list[Any]:
    """Measurements of some prompts, made unless kept."""
    keys = {f"{what}: {number}": number for number in numbers}
    for key, number in keys.items():
        if key not in known:
            with torch.inference_mode():
                known.keep({key: measured(number)})
    return [known[key] for key in keys]
