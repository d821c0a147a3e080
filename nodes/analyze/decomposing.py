"""Runs of *Error Decomposition*: each example in full and cached at once, for each schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from torch import Tensor

from ...gph_core.analysis.decomposition import LINES, Decomposition, Split, decompose
from ...gph_core.paths.choice import Choice
from ...gph_core.run_plan import RunPlan
from ..hook import fingerprint
from ..hook.calls import Switch
from ..library.user_files import UserFiles
from ..sample import euler
from ..sample.euler import Velocities
from ..sample.sampling import Observer
from ..sample.workload import Workload

NAME = "Error Decomposition"
_MOST_EVALUATIONS = 3  # of the model in a step: as the run has it, and in full at both states
FILES = UserFiles("decompositions", ".jsonl")


@dataclass(frozen=True)
class Analysis:
    """Decomposed runs of examples under plans, in a file.

    Args:
        plans: by name.

    Raises:
        ValueError: the analysis does not cover the sampler, or a plan cannot cache this workflow.
    """

    workload: Workload
    plans: Mapping[str, RunPlan]
    name: str

    def __post_init__(self) -> None:
        euler.refuse_others(NAME, self.workload.sampler)
        for name, plan in self.plans.items():
            try:
                self._check(self._choice(plan))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error

    @property
    def num_evaluations(self) -> int:
        """Maximal number of model evaluations in a run."""
        return _MOST_EVALUATIONS * self.workload.num_steps

    @cached_property
    def choices(self) -> dict[str, Choice]:
        """Choices of the plans in each run, by name."""
        return {name: self._choice(plan) for name, plan in self.plans.items()}

    def begin(self) -> dict[tuple[str, str], Decomposition]:
        """Load known results, by plan and example; those of others are left out."""
        work = self.workload
        known = {
            (split.plan, split.example): split.decomposition
            for split in LINES.begin(FILES.path_of(self.name), work.run_conditions)
        }
        plans = {name: _identity(choice) for name, choice in self.choices.items()}
        examples = work.names()
        wanted = {(name, e): (plan, e) for name, plan in plans.items() for e in examples}
        return {key: known[stored] for key, stored in wanted.items() if stored in known}

    def add(self, name: str, number: int, callback: Callable) -> Decomposition:
        """Decompose a run of one of the examples, by number, under a plan, and keep it."""
        work = self.workload
        try:
            found = decomposed(work, number, self.plans[name], callback)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        example, plan = work.examples[number], _identity(self.choices[name])
        split = Split(work.names()[number], example.prompt, example.seed, name, plan, found)
        LINES.append(FILES.path_of(self.name), split)
        return found

    def _choice(self, plan: RunPlan) -> Choice:
        return self.workload.setup.choice_of(plan)

    def _check(self, choice: Choice) -> None:
        self.workload.setup.check(choice)
        if not choice.schedule.num_cached:
            raise ValueError("no step is cached, so there is no error; choose another schedule")


def decomposed(
    work: Workload, number: int, plan: RunPlan, callback: Callable | None = None
) -> Decomposition:
    """Decompose a run of one of the examples, by number, under a plan.

    Raises ``ValueError`` if caching was stopped on the way.
    """
    steps, switch, found = _Steps(), Switch(), []

    def side_by_side(velocities: Velocities, start: Tensor) -> Tensor:
        model = _Planned(velocities, steps, switch)
        found.append(decompose(model.full, model.planned, start, work.sigmas.tolist()))
        return start

    sampling = work.sampling(number)
    sampling = replace(sampling, sampler=euler.in_place_of(sampling.sampler, side_by_side))
    _, record = sampling.under(plan, callback, steps, switch)
    if record.caching_stopped:
        raise ValueError(record.caching_stopped)
    return found[0]


def _identity(choice: Choice) -> str:
    """Identity of a decomposed run."""
    policy = fingerprint.of_policy(choice.policy)
    return fingerprint.of_values(str(choice.schedule), policy, repr(choice.gate))


class _Steps(Observer):
    """Record of the kind of each step."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: dict[int, str] = {}

    def stepped(self, step: int, kind: str) -> None:
        self.kinds[step] = kind


class _Planned:
    """Velocities of a run for ``decompose``."""

    def __init__(self, velocities: Velocities, steps: _Steps, switch: Switch) -> None:
        self._velocities, self._steps, self._switch = velocities, steps, switch

    def full(self, step: int, state: Tensor) -> Tensor:
        with self._switch.off():
            return self._velocities.at(step, state)

    def planned(self, step: int, state: Tensor) -> tuple[Tensor, bool]:
        velocity = self._velocities.at(step, state)
        # Of a refused step, some prompts may have been predicted all the same.
        return velocity, self._steps.kinds[step] != "full"
