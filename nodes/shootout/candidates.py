"""Candidates of *Method Shootout*: ways of sampling with the same number of full steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...gph_core.calibration.entry import Calibration, fit_of
from ...gph_core.methods.candidates import FITTED_PATH, FULL, PATH, PLAIN, UNIFORM
from ...gph_core.methods.planned import planned
from ...gph_core.methods.table import ALL
from ...gph_core.paths.choice import Choice, choose, choose_fitted, spacing
from ...gph_core.paths.speeds import check_full
from ...gph_core.policies.base import Policy, options_of
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.policies.fitted import Fitted
from ...gph_core.run.levels import along
from ...gph_core.run.record import RunRecord
from ...gph_core.run_plan import RunPlan, adaptive, fixed, setting_of, settled
from ...gph_core.schedule import Schedule
from ...gph_core.texts import named
from ..hook import fingerprint
from ..library import user_paths
from ..sample.sampling import Sampling
from ..sample.workload import Workload


@dataclass(frozen=True, eq=False)
class Candidate:
    """Way of sampling an example.

    Args:
        origin: what decides on the full steps, in words.
        schedule: of its own steps; of an adaptive method, where the gate has no say.
        sample: sampler that returns the latent, and the record if there is a cache.
        choice: choice of the cache; None without one.
    """

    name: str
    origin: str
    schedule: Schedule
    sample: Callable[[Sampling, Callable], tuple[Any, RunRecord | None]]
    choice: Choice | None = None

    @property
    def plan(self) -> str:
        """Identity that distinguishes it from another candidate of its name."""
        if self.choice is None:
            return str(self.schedule)
        policy = self.choice.policy
        options = list(options_of(policy).values())
        parts = (str(self.schedule), repr(policy), options, repr(self.choice.gate))
        return fingerprint.of_values(*parts)


@dataclass(frozen=True)
class LineUp:
    """Inputs that candidates are made of.

    Args:
        num_full: wanted number of full steps.
        calibrations: by method.
        policy: where no method says another.
    """

    workload: Workload
    num_full: int
    calibrations: Mapping[str, Calibration]
    policy: Policy

    def __post_init__(self) -> None:
        check_full(self.num_full, self.workload.num_steps)
        # Those of one file have the same conditions.
        for entry in list(self.calibrations.values())[:1]:
            entry.check(self.workload.setup.conditions)

    def candidates(
        self, names: Sequence[str], own: Mapping[str, Schedule]
    ) -> tuple[list[Candidate], dict[str, str]]:
        """Full run and candidates that can run here, and reasons against the others, by name.

        Args:
            own: schedules of the user's by name, which take part in any case; ``ValueError`` if
                one cannot.
        """
        num_steps = self.workload.num_steps
        found = [
            Candidate(
                FULL, "every step", Schedule.all_full(num_steps), lambda s, cb: (s.full(cb), None)
            )
        ]
        absent = {}
        for name in names:
            try:
                found.append(self._plain() if name == PLAIN else self._cached(name))
            except ValueError as error:
                absent[name] = str(error)
        for name, schedule in own.items():
            try:
                choice = self._resolved(fixed(schedule, self.policy))
                found.append(self._of(name, choice))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        if len(found) == 1:
            reasons = "; ".join(named(name, reason) for name, reason in absent.items())
            raise ValueError(f"nothing can be compared ({reasons or 'no method is named'})")
        return found, absent

    def _plain(self) -> Candidate:
        levels = along(self.workload.sigmas)(self.num_full)
        return Candidate(
            PLAIN,
            f"{self.num_full} steps along the same curve of noise levels",
            Schedule.all_full(self.num_full),
            lambda sampling, callback: (sampling.plain(levels, callback), None),
        )

    def _cached(self, name: str) -> Candidate:
        if name == PATH:
            return self._of(name, self._path())
        if name == FITTED_PATH:
            return self._of(name, self._fitted())
        if name == UNIFORM:
            steps = self.workload.num_steps
            schedule = spacing(steps, self.num_full, self.policy.min_anchors)
            return self._of(name, Choice(schedule, "uniform spacing", self.policy))
        return self._of(name, self._method(name))

    def _of(self, name: str, choice: Choice) -> Candidate:
        """Candidate with a cache; ``ValueError`` says why it cannot run."""
        self.workload.setup.check(choice)
        plan, schedule = settled(choice), choice.schedule
        return Candidate(name, choice.origin, schedule, lambda s, cb: s.under(plan, cb), choice)

    def _path(self) -> Choice:
        """Choice of *Golden Path Cache* among the paths without weights."""
        run = self.workload.setup.known(self.policy)
        every = user_paths.every()
        paths = [path for path in every if not isinstance(path.policy, Fitted)]
        return choose(run, self.num_full, paths)

    def _fitted(self) -> Choice:
        """Choice of *Golden Path Cache* among the paths with weights."""
        run = self.workload.setup.known(Reuse())
        choice = choose_fitted(run, self.num_full, user_paths.every())
        if choice is None:
            raise ValueError(
                f"no path with weights for {self.num_full} of {self.workload.num_steps} full "
                "steps is known for this model, CFG and noise levels; Schedule Search can fit one"
            )
        return choice

    def _method(self, name: str) -> Choice:
        method = ALL[name]
        entry = self.calibrations.get(method.name)
        if method.is_adaptive:
            if entry is None or not entry.thresholds:
                raise ValueError(
                    f"no threshold is known for {self.num_full} full steps; run Calibrate Ratio "
                    "for this method and number, and choose its file"
                )
            return self._resolved(adaptive(method, method.policy, None, self.num_full, entry))
        run = self.workload.setup.known(method.policy)
        setting = setting_of(run, self.num_full, fit_of(method, entry))
        plan = planned(method, setting)
        origin = f"{method.rule}; {plan.note}" if plan.note else method.rule
        return Choice(plan.schedule, origin, plan.policy)

    def _resolved(self, plan: RunPlan) -> Choice:
        return self.workload.setup.choice_of(plan)
