"""Runs that are full and cached side by side, for *Error Decomposition*."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from ...gph_core.analysis.decomposition import Decomposition, decompose
from ...gph_core.paths.conditions import Choice
from ...gph_core.run_plan import RunPlan
from ..hook import fingerprint
from ..hook.calls import Switch
from ..sample import euler
from ..sample.euler import Velocities
from ..sample.sampling import Observer
from ..sample.workload import Workload


def decomposed(
    work: Workload, number: int, plan: RunPlan, callback: Callable | None = None
) -> Decomposition:
    """Decompose the run of an example, by its number, under a plan.

    Raises ``ValueError`` if caching was stopped during the run.
    """
    steps, switch, results = _Steps(), Switch(), []

    def side_by_side(velocities: Velocities, start: Tensor) -> Tensor:
        model = _Planned(velocities, steps, switch)
        results.append(decompose(model.full, model.planned, start, work.sigmas.tolist()))
        return start

    sampling = work.sampling(number)
    sampling = replace(sampling, sampler=euler.in_place_of(sampling.sampler, side_by_side))
    _, record = sampling.under(plan, callback, steps, switch)
    if record.caching_stopped:
        raise ValueError(record.caching_stopped)
    return results[0]


def identity(choice: Choice) -> str:
    """Identity of a decomposed run, the same in every session."""
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
        # At a refused step, some prompts may still have been predicted.
        return velocity, self._steps.kinds[step] != "full"
