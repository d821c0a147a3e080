"""Isolated steps and decomposed runs of a lab's new prompts; what is known is kept."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from benchmarks import methods
from benchmarks._lab import Lab
from benchmarks._memory import Memory
from gph_core.decomposition import Decomposition
from gph_core.isolated_steps import IsolatedStep, measured_steps
from gph_core.schedule import Schedule


def isolated(lab: Lab, policy, numbers: Sequence[int]) -> list[list[IsolatedStep]]:
    """Every step of each prompt cached alone; its feature error over any distance, too."""
    from golden_path_pack.nodes.isolating import isolate, new_run

    known, steps = Memory(lab.memory / "isolated.jsonl"), measured_steps(lab.steps)

    def key(number: int) -> str:
        return f"{lab}: {policy}: {number}"

    for number in numbers:
        if key(number) in known:
            continue
        found, run = [], new_run(lab.unseen, policy, reach=lab.steps - 1)
        with torch.inference_mode():
            isolate(lab.unseen, number, run, steps, found.append)
        known.keep({key(number): [step.to_dict() for step in found]})
    return [[IsolatedStep.from_dict(step) for step in known[key(n)]] for n in numbers]


def decomposed(lab: Lab, schedule: Schedule, numbers: Sequence[int]) -> list[Decomposition]:
    """A run of each prompt under a schedule with residual reuse."""
    from golden_path_pack.gph_core.extrapolation import Reuse
    from golden_path_pack.nodes import decomposing

    known, way = (
        Memory(lab.memory / "decompositions.jsonl"),
        methods.fixed("schedule", schedule, Reuse()),
    )

    def key(number: int) -> str:
        return f"{lab}: {way.key}: {number}"

    for number in numbers:
        if key(number) in known:
            continue
        with torch.inference_mode():
            run = decomposing.decomposed(lab.unseen, number, way.plan)
        known.keep({key(number): run.to_dict()})
    return [Decomposition.from_dict(known[key(n)]) for n in numbers]
