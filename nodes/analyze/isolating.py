"""Runs in which single steps are cached, for *Propagation Gain*."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from torch import Tensor

from ...gph_core.analysis.isolated_steps import IsolatedStep, Tried, isolated_steps
from ...gph_core.policies.base import Policy
from ...gph_core.run.isolated_run import IsolatedRun
from ...gph_core.run_plan import BUDGET_MIB
from ..hook import calls
from ..hook.calls import Switch
from ..sample import euler
from ..sample.euler import Velocities
from ..sample.workload import Workload


def new_run(work: Workload, policy: Policy, reach: int) -> IsolatedRun:
    """New ``IsolatedRun`` for one of the examples; errors as in ``IsolatedRun``."""
    budget, policy = BUDGET_MIB * 2**20, work.setup.known(policy).told(policy)
    return IsolatedRun(policy, work.setup.sigmas, reach, budget, work.setup.name)


def isolate(
    work: Workload, number: int, run: IsolatedRun, wanted: Sequence[int],
    on_measured: Callable[[IsolatedStep], None], callback: Callable | None = None,
) -> None:  # fmt: skip
    """Measure isolated steps of an example, by its number.

    Args:
        run: a new run.
        on_measured: called with each measurement, as soon as it is made.
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
        # First: once computed in full, the step would itself serve predictions.
        with self._run.cached(step):
            cached = self._velocities.at(step, state)
        full = self._velocities.at(step, state)
        return Tried(full, cached, self._run.feature_errors(step))

    def full(self, step: int, state: Tensor) -> Tensor:
        with self._switch.off():
            return self._velocities.at(step, state)
