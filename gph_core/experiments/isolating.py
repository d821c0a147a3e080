"""Single-step ablation: each example in full, then with each step cached alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analysis.isolated_steps import LINES, IsolatedStep, Measured, measured_steps
from .runner import Examples

NAME = "Propagation Gain"

# Measures some steps of an example, by number, each told at once.
Isolate = Callable[[int, Sequence[int], Callable[[IsolatedStep], None]], None]


@dataclass(frozen=True)
class Isolation:
    """Single-step ablation of examples under one policy, in a file.

    Args:
        conditions: that the measurements share, besides the examples.

    Raises:
        ValueError: there are too few examples or steps.
    """

    examples: Examples
    file: Path
    conditions: Mapping[str, Any]

    def __post_init__(self) -> None:
        if len(self.examples) < 2:
            raise ValueError(
                f"{NAME} estimates the gain of each example from the others, but there is only "
                "one example; use two or more prompts or seeds"
            )
        if not self.steps:
            raise ValueError(
                f"{NAME} caches single steps between the first and the last one, but this run "
                f"has only {self.examples.num_steps} steps; use three or more"
            )

    @property
    def steps(self) -> range:
        """Steps that are measured."""
        return measured_steps(self.examples.num_steps)

    def known(self) -> list[dict[int, IsolatedStep]]:
        """Measurements in the file, of each example by step."""
        known: dict[str, dict[int, IsolatedStep]] = {name: {} for name in self.examples.names()}
        for measured in LINES.begin(self.file, self.conditions):
            known.get(measured.example, {})[measured.step.step] = measured.step
        return list(known.values())

    def num_evaluations(self, wanted: Sequence[int]) -> int:
        """Number of model evaluations for some steps of an example."""
        num_steps = self.examples.num_steps
        rest = sum(num_steps - step - 1 for step in wanted)
        return num_steps + len(wanted) + rest if wanted else 0

    def complete(self, isolate: Isolate) -> list[list[IsolatedStep]]:
        """Measurements of all steps of each example; those that are missing are made now."""
        known = self.known()
        for number, steps in enumerate(known):
            if wanted := self.missing(steps):
                isolate(number, wanted, lambda step, n=number: self._keep(n, known[n], step))
        return [[steps[step] for step in self.steps] for steps in known]

    def missing(self, known: Mapping[int, IsolatedStep]) -> list[int]:
        """Steps of an example that are not measured yet."""
        return [step for step in self.steps if step not in known]

    def _keep(self, number: int, known: dict[int, IsolatedStep], step: IsolatedStep) -> None:
        name, example = self.examples.names()[number], self.examples.examples[number]
        LINES.append(self.file, Measured(name, example.prompt, example.seed, step))
        known[step.step] = step
