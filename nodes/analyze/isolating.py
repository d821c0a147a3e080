"""Runs of *Propagation Gain*: each example in full, then with each step cached alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from ...gph_core.analysis.isolated_steps import (
    LINES,
    IsolatedStep,
    Measured,
    Tried,
    isolated_steps,
    measured_steps,
)
from ...gph_core.calibration.fitted import check_policy
from ...gph_core.policies.base import Policy
from ...gph_core.run.isolated_run import IsolatedRun
from ...gph_core.run_plan import BUDGET_MIB
from ..hook import calls, fingerprint
from ..hook.calls import Switch
from ..library.user_files import UserFiles
from ..sample import euler
from ..sample.euler import Velocities
from ..sample.workload import Workload

NAME = "Propagation Gain"
FILES = UserFiles("propagation", ".jsonl")


@dataclass(frozen=True)
class Isolation:
    """Single-step ablation of examples under one policy, in a file.

    Args:
        reach: see ``IsolatedRun``.

    Raises:
        ValueError: the analysis does not cover the sampler, the policy cannot cache this workflow,
            or there are too few examples or steps.
    """

    workload: Workload
    policy: Policy
    reach: int
    name: str
    notes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        work = self.workload
        object.__setattr__(self, "notes", [*work.notes])
        euler.refuse_others(NAME, work.sampler)
        if len(work) < 2:
            raise ValueError(
                f"{NAME} estimates the gain of each example from the others, but there is only "
                "one example; use two or more prompts or seeds"
            )
        if not self.steps:
            raise ValueError(
                f"{NAME} caches single steps between the first and the last one, but this run "
                f"has only {work.num_steps} steps; use three or more"
            )
        reason = work.setup.incompatibility(self.policy)
        if reason is not None:
            raise ValueError(reason)
        new_run(work, self.policy, self.reach)
        if note := check_policy(self.policy, work.setup.conditions):
            self.notes.append(note)

    @property
    def steps(self) -> range:
        """Steps that are measured."""
        return measured_steps(self.workload.num_steps)

    @property
    def conditions(self) -> dict[str, Any]:
        """Conditions that the measurements share, besides the examples."""
        work = self.workload
        return {
            **work.run_conditions,
            "policy": fingerprint.of_policy(self.policy),
            "longest jump": self.reach + 1,
        }

    def begin(self) -> dict[str, dict[int, IsolatedStep]]:
        """Load known measurements, by the names of these examples and by step."""
        found: dict[str, dict[int, IsolatedStep]] = {name: {} for name in self.workload.names()}
        for measured in LINES.begin(FILES.path_of(self.name), self.conditions):
            found.get(measured.example, {})[measured.step.step] = measured.step
        return found

    def num_evaluations(self, wanted: Sequence[int]) -> int:
        """Number of model evaluations for some steps of an example."""
        num_steps = self.workload.num_steps
        rest = sum(num_steps - step - 1 for step in wanted)
        return num_steps + len(wanted) + rest if wanted else 0

    def measure(
        self, number: int, wanted: Sequence[int], callback: Callable
    ) -> dict[int, IsolatedStep]:
        """Measure steps of one of the examples, by number; each is kept at once."""
        name, example = self.workload.names()[number], self.workload.examples[number]
        found = {}

        def on_measured(step: IsolatedStep) -> None:
            LINES.append(
                FILES.path_of(self.name), Measured(name, example.prompt, example.seed, step)
            )
            found[step.step] = step

        run = new_run(self.workload, self.policy, self.reach)
        isolate(self.workload, number, run, wanted, on_measured, callback)
        return found


def new_run(work: Workload, policy: Policy, reach: int) -> IsolatedRun:
    """New ``IsolatedRun`` for one of the examples; errors as of ``IsolatedRun``."""
    budget = BUDGET_MIB * 2**20
    return IsolatedRun(policy, work.setup.sigmas, reach, budget, work.setup.name)


def isolate(
    work: Workload, number: int, run: IsolatedRun, wanted: Sequence[int],
    on_measured: Callable[[IsolatedStep], None], callback: Callable | None = None,
) -> None:  # fmt: skip
    """Measure steps of one of the examples, by number.

    Args:
        run: a new run.
        on_measured: takes each measurement at once.
    """
    switch = Switch()

    def step_by_step(velocities: Velocities, start: Tensor) -> Tensor:
        model = _Tried(velocities, run, switch)
        for step in isolated_steps(
            model.recorded, model.tried, model.full, start, work.sigmas.tolist(), wanted
        ):
            on_measured(step)
        return start

    sampling = work.sampling(number)
    sampling = replace(sampling, sampler=euler.in_place_of(sampling.sampler, step_by_step))
    sampling.through(switch.over(calls.wrappers(run)), callback)


class _Tried:
    """Velocities of a run for ``isolated_steps``."""

    def __init__(self, velocities: Velocities, run: IsolatedRun, switch: Switch) -> None:
        self._velocities, self._run, self._switch = velocities, run, switch

    def recorded(self, step: int, state: Tensor) -> Tensor:
        return self._velocities.at(step, state)

    def tried(self, step: int, state: Tensor) -> Tried:
        # First: once the step is known in full, it is among those that are predicted from.
        with self._run.cached(step):
            cached = self._velocities.at(step, state)
        full = self._velocities.at(step, state)
        return Tried(full, cached, self._run.feature_errors(step))

    def full(self, step: int, state: Tensor) -> Tensor:
        with self._switch.off():
            return self._velocities.at(step, state)
