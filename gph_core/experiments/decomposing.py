"""Error decomposition: each example in full and cached at once, under each plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..analysis.decomposition import LINES, Decomposition, Split
from ..paths.conditions import Choice
from ..run_plan import RunPlan
from .runner import Examples

NAME = "Error Decomposition"
MOST_EVALUATIONS = 3  # of the model in a step: as the run has it, and in full at both states

# Decomposes the run of an example, by number, under a plan; ``ValueError`` if caching was stopped.
Decompose = Callable[[int, RunPlan], Decomposition]


@dataclass(frozen=True)
class DecomposedRuns:
    """Decomposed runs of examples under plans, in a file.

    Args:
        plans: by name.
        identity: of a choice, the same in every session.

    Raises:
        ValueError: a plan cannot cache this workflow.
    """

    examples: Examples
    plans: Mapping[str, RunPlan]
    file: Path
    identity: Callable[[Choice], str]

    def __post_init__(self) -> None:
        for name, choice in self.choices.items():
            try:
                self.examples.setup.check(choice)
                if not choice.schedule.num_cached:
                    raise ValueError(
                        "no step is cached, so there is no error; choose another schedule"
                    )
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error

    @cached_property
    def choices(self) -> dict[str, Choice]:
        """Choices of the plans in each run, by name."""
        choices = {}
        for name, plan in self.plans.items():
            try:
                choices[name] = self.examples.setup.choice_of(plan)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        return choices

    def known(self) -> dict[tuple[str, int], Decomposition]:
        """Results in the file, by plan and number of the example; those of others are left out."""
        known = {
            (split.plan, split.example): split.decomposition
            for split in LINES.begin(self.file, self.examples.run_conditions)
        }
        stored = {
            (plan, number): (self.identity(choice), name)
            for plan, choice in self.choices.items()
            for number, name in enumerate(self.examples.names())
        }
        return {key: known[place] for key, place in stored.items() if place in known}

    def complete(self, decompose: Decompose) -> dict[str, list[Decomposition]]:
        """Results of all examples, by plan; those that are missing are made now."""
        known, numbers = self.known(), range(len(self.examples))
        for name, plan in self.plans.items():
            for number in numbers:
                if (name, number) not in known:
                    known[name, number] = self._decomposed(name, number, plan, decompose)
        return {name: [known[name, number] for number in numbers] for name in self.plans}

    def _decomposed(
        self, name: str, number: int, plan: RunPlan, decompose: Decompose
    ) -> Decomposition:
        try:
            decomposition = decompose(number, plan)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        example, identity = self.examples.examples[number], self.identity(self.choices[name])
        split = Split(
            self.examples.names()[number], example.prompt, example.seed, name, identity,
            decomposition,
        )  # fmt: skip
        LINES.append(self.file, split)
        return decomposition
