"""Candidates of *Method Shootout*: ways of sampling with the same number of full steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..calibration.entry import Calibration, fit_of
from ..methods.candidates import FITTED_PATH, FULL, PATH, PLAIN, UNIFORM
from ..methods.planned import planned
from ..methods.table import ALL
from ..paths.choice import choose_fitted
from ..paths.conditions import Choice
from ..paths.golden_path import GoldenPath
from ..paths.spacings import spacing
from ..paths.speeds import check_full
from ..policies.base import Policy
from ..policies.extrapolation import Reuse
from ..policies.fitted import Fitted
from ..run_plan import adaptive, by_count, fixed, setting_of
from ..schedule import Schedule
from ..texts import named
from .runner import Setup


@dataclass(frozen=True, eq=False)
class Candidate:
    """Way of sampling an example.

    Args:
        origin: what decides on the full steps, in words.
        schedule: of its own steps; of an adaptive method, where the gate has no say.
        plan: identity that distinguishes it from another candidate of its name.
        choice: choice of the cache; None without one.
    """

    name: str
    origin: str
    schedule: Schedule
    plan: str
    choice: Choice | None = None


@dataclass(frozen=True)
class LineUp:
    """Inputs that candidates are made of.

    Args:
        num_full: wanted number of full steps.
        calibrations: by method.
        policy: where no method says another; None: residual reuse, and the default policy without
            a path.
        paths: of the library.
        identity: of a choice, the same in every session.
    """

    setup: Setup
    num_full: int
    calibrations: Mapping[str, Calibration]
    policy: Policy | None
    paths: Sequence[GoldenPath]
    identity: Callable[[Choice], str]

    def __post_init__(self) -> None:
        check_full(self.num_full, self.setup.num_steps)
        # Those of one file have the same conditions.
        for entry in list(self.calibrations.values())[:1]:
            entry.check(self.setup.conditions)

    @property
    def _policy(self) -> Policy:
        """Policy of schedules of the user's and of uniform spacing."""
        return self.policy or Reuse()

    def candidates(
        self, names: Sequence[str], own: Mapping[str, Schedule]
    ) -> tuple[list[Candidate], dict[str, str]]:
        """Full run and candidates that can run here, and reasons against the others, by name.

        Args:
            own: schedules of the user's by name, which take part in any case; ``ValueError`` if
                one cannot.
        """
        candidates = [self._uncached(FULL, "every step", self.setup.num_steps)]
        absent = {}
        for name in names:
            try:
                candidates.append(self._candidate(name))
            except ValueError as error:
                absent[name] = str(error)
        for name, schedule in own.items():
            try:
                candidates.append(
                    self._of(name, self.setup.choice_of(fixed(schedule, self._policy)))
                )
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        if len(candidates) == 1:
            reasons = "; ".join(named(name, reason) for name, reason in absent.items())
            raise ValueError(f"nothing can be compared ({reasons or 'no method is named'})")
        return candidates, absent

    def _uncached(self, name: str, origin: str, num_steps: int) -> Candidate:
        schedule = Schedule.all_full(num_steps)
        return Candidate(name, origin, schedule, str(schedule))

    def _candidate(self, name: str) -> Candidate:
        if name == PLAIN:
            origin = f"{self.num_full} steps along the same curve of noise levels"
            return self._uncached(name, origin, self.num_full)
        if name == PATH:
            return self._of(name, self._path())
        if name == FITTED_PATH:
            return self._of(name, self._fitted())
        if name == UNIFORM:
            schedule = spacing(self.setup.num_steps, self.num_full, self._policy.min_anchors)
            return self._of(name, Choice(schedule, "uniform spacing", self._policy))
        return self._of(name, self._method(name))

    def _of(self, name: str, choice: Choice) -> Candidate:
        """Candidate with a cache; ``ValueError`` says why it cannot run."""
        self.setup.check(choice)
        return Candidate(name, choice.origin, choice.schedule, self.identity(choice), choice)

    def _path(self) -> Choice:
        """Choice of *Golden Path Cache* among the paths without weights."""
        paths = [path for path in self.paths if not isinstance(path.policy, Fitted)]
        return self.setup.choice_of(by_count(self.num_full, self.policy, paths))

    def _fitted(self) -> Choice:
        """Choice of *Golden Path Cache* among the paths with weights."""
        choice = choose_fitted(self.setup.known(Reuse()), self.num_full, self.paths)
        if choice is None:
            raise ValueError(
                f"no path with weights for {self.num_full} of {self.setup.num_steps} full "
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
            return self.setup.choice_of(adaptive(method, method.policy, None, self.num_full, entry))
        run = self.setup.known(method.policy)
        setting = setting_of(run, self.num_full, fit_of(method, entry))
        plan = planned(method, setting)
        origin = f"{method.rule}; {plan.note}" if plan.note else method.rule
        return Choice(plan.schedule, origin, plan.policy)
