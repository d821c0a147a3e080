"""How runs are cached: one frozen plan, which becomes a choice once a run is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .calibration.entry import Calibration, fit_of
from .gates.base import Gate
from .methods.method import Method, Setting, settings_of
from .paths import custom, speeds
from .paths.choice import choose as choose_for
from .paths.conditions import Choice, Conditions
from .paths.golden_path import GoldenPath
from .paths.speeds import check_full, count_of
from .policies.base import Policy
from .policies.damped_velocity import DampedVelocity
from .policies.extrapolation import Reuse
from .schedule import Schedule

BUDGET_MIB = 2048  # of residuals that stay on the model's device, unless the user says otherwise
THRESHOLD = "Threshold"  # the choice of a threshold in place of a speed


@dataclass(frozen=True)
class RunPlan:
    """Plan that many runs can share; made by the functions below.

    Args:
        policy: of the cached steps, unless the choice brings another.
        choose: from what is known of a run to its choice; ``ValueError`` if it cannot be carried
            out there.
        is_chosen: whether the schedule is ours to choose, not the user's.
        calibration: that the runs have to fit; None if all do.
        needs_threshold: whether a threshold of the calibration is used, which holds for its own
            conditions alone.
        device_budget: bytes of anchors that stay on the model's device.
        for_others: whether runs under other schedules go on from states of this one.
        is_free: whether the policy is ours to choose where no path fits.
    """

    policy: Policy
    choose: Callable[[Conditions], Choice]
    is_chosen: bool = False
    calibration: Calibration | None = None
    needs_threshold: bool = False
    device_budget: float = BUDGET_MIB * 2**20
    for_others: bool = False
    is_free: bool = False

    def choice_of(self, run: Conditions) -> Choice:
        """The choice for a run, with a policy that knows what it has to know of it."""
        choice = self.choose(replace(run, is_free=self.is_free))
        return choice._replace(policy=run.told(choice.policy))

    def check(self, conditions: Callable[[], Mapping[str, Any]]) -> str:
        """Note on what the calibration does not quite fit; empty if there is nothing to say.

        ``ValueError`` if it is of another model, or its threshold of another setting: a threshold
        promises a number of steps.

        Args:
            conditions: of the run, see ``Calibration``; asked for only if needed.
        """
        entry = self.calibration
        if entry is None or not (self.needs_threshold or entry.values):
            return ""
        of_run = conditions()
        if self.needs_threshold:
            entry.check(of_run)
        return entry.check_values(of_run)


def fixed(
    schedule: Schedule, policy: Policy, device_budget: float = BUDGET_MIB * 2**20,
    for_others: bool = False, origin: str = custom.OWN,
) -> RunPlan:  # fmt: skip
    """Plan of a given schedule; a shorter run takes its part of it.

    Args:
        origin: where the schedule comes from.
    """

    def choose(run: Conditions) -> Choice:
        choice = custom.fit(
            schedule, policy, run.sigmas, run.sigma_max, run.continues, run.grids, origin
        )
        return _with_risk(choice, schedule, run)  # a run may take a part of it

    return RunPlan(policy, choose, device_budget=device_budget, for_others=for_others)


def by_speed(
    speed: str, policy: Policy | None, paths: Callable[[], Sequence[GoldenPath]],
    device_budget: float = BUDGET_MIB * 2**20,
) -> RunPlan:  # fmt: skip
    """Plan of a speed: the best-fitting golden path, see ``paths.choice``.

    Args:
        policy: None: residual reuse, or the weights of the path; the default policy without a path.
        paths: the library when the run begins.
    """
    return _chosen(lambda run: speeds.resolve(speed, run, paths()), policy, device_budget)


def by_count(num_full: int, policy: Policy | None, paths: Sequence[GoldenPath]) -> RunPlan:
    """Plan of a number of full steps, as ``by_speed`` makes it of a speed."""
    return _chosen(lambda run: choose_for(run, num_full, paths), policy)


def _chosen(
    choice_for: Callable[[Conditions], Choice], policy: Policy | None,
    device_budget: float = BUDGET_MIB * 2**20,
) -> RunPlan:  # fmt: skip

    def choose(run: Conditions) -> Choice:
        choice = choice_for(run)
        return _with_risk(choice, choice.schedule, run)

    return RunPlan(
        policy or Reuse(), choose, is_chosen=True, device_budget=device_budget,
        is_free=policy is None,
    )  # fmt: skip


def settled(choice: Choice) -> RunPlan:
    """Plan whose choice is made: all of its runs have the same noise levels."""
    return RunPlan(choice.policy, lambda run: choice)


def adaptive(
    method: Method, policy: Policy, threshold: float | None = None,
    speed: str | int = THRESHOLD, calibration: Calibration | None = None,
) -> RunPlan:  # fmt: skip
    """Plan of a method that decides during the run.

    Args:
        threshold: None stands for the calibrated one of the speed.
        speed: one of ``SPEEDS``, a number of full steps, or ``THRESHOLD``: the rule may depend on
            the number.
        calibration: of the method; None if it needs none here.
    """

    def choose(run: Conditions) -> Choice:
        if isinstance(speed, int):
            check_full(speed, run.num_steps)
        fit = fit_of(method, calibration)
        setting = setting_of(run, count_of(speed, run), fit)
        used = threshold
        if used is None:
            assert calibration is not None
            assert setting.num_full is not None
            wanted = run.num_steps - setting.num_full
            used = calibration.threshold(settings_of(method, setting, policy), wanted)
        return _decided(method, policy, setting, used)

    return RunPlan(policy, choose, calibration=calibration, needs_threshold=threshold is None)


def _decided(method: Method, policy: Policy, setting: Setting, threshold: float) -> Choice:
    forced = method.forced(setting, policy)
    assert method.select is not None  # as of every method that decides during the run
    selected = method.select(threshold, setting)
    published = method.published(setting) if setting.fit is None else None
    choice = Choice(
        forced, f"{method.title}, threshold {threshold:.4g}", policy,
        note=f"coefficients published for {published.model}" if published else "",
        method=method.title,
    )  # fmt: skip
    if isinstance(selected, Gate):
        return choice._replace(gate=selected)
    full = (*selected.full_steps, *forced.full_steps)
    return choice._replace(schedule=Schedule(full, setting.num_steps))


def setting_of(run: Conditions, full: int | None, fit: Any = None) -> Setting:
    """Facts of a run that a method may use.

    Args:
        full: wanted number of full steps, if there is one.
    """
    return Setting(run.num_steps, full, run.family or "", run.architecture, fit, run.time_changes)


def _with_risk(choice: Choice, schedule: Schedule, run: Conditions) -> Choice:
    damped = run.told(DampedVelocity())
    assert isinstance(damped, DampedVelocity)

    def strength(full: int, step: int) -> float:
        return damped.strength(run.sigmas[full], run.sigmas[step + 1])

    covers = schedule.num_steps == run.num_steps
    risk = choice.policy.risk(schedule, strength if covers else None)
    return choice._replace(note="\n".join(filter(None, (choice.note, risk))))
