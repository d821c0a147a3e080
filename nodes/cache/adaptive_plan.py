"""Plan of a method that decides during each run which steps are full."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from ...gph_core.calibration.entry import Calibration
from ...gph_core.calibration.fitted import fit_of, settings_of
from ...gph_core.gates.base import Gate
from ...gph_core.methods.method import Method, Setting
from ...gph_core.paths.choice import Choice, Conditions
from ...gph_core.paths.speeds import check_full, full_of
from ...gph_core.policies.base import Policy
from ...gph_core.schedule import Schedule
from ..hook import compatibility, conditions, starting
from . import time_changes

THRESHOLD = "Threshold"  # the choice of a threshold in the place of a speed


@dataclass(frozen=True)
class AdaptivePlan:
    """Plan of a method that decides during the run.

    Args:
        threshold: None stands for the calibrated one of the speed.
        speed: one of ``SPEEDS``, a number of full steps, or ``THRESHOLD``: the rule may depend on
            the number.
        calibration: of the method; None if it needs none here.
    """

    method: Method
    policy: Policy
    threshold: float | None
    speed: str | int = THRESHOLD
    calibration: Calibration | None = None
    device_budget: float = starting.BUDGET_MIB * 2**20
    for_others: bool = False

    @property
    def is_chosen(self) -> bool:
        return False  # the method decides during the run

    def check(self, guider, sampler, sigmas, latent) -> str:
        """Note on what the calibration does not quite fit.

        ``ValueError`` if they are of another model, or its threshold of another setting: that
        promises a number of steps.
        """
        known, needs_threshold = self.calibration, self.threshold is None
        if known is None or not (needs_threshold or known.values):
            return ""
        found = conditions.conditions_of(guider, sampler, sigmas.tolist(), latent.shape)
        if needs_threshold:
            known.check(found)
        return known.check_values(found)

    def resolve(self, patcher, run: Conditions, sigma_max: float, continues: bool) -> Choice:
        if isinstance(self.speed, int):
            check_full(self.speed, run.num_steps)
        fit = fit_of(self.method, self.calibration)
        setting = setting_of(patcher, run, full_of(self.speed, run.num_steps), fit)
        forced = self.method.forced(setting, self.policy)
        threshold = self.threshold
        if threshold is None:
            assert self.calibration is not None
            assert setting.num_full is not None
            wanted = run.num_steps - setting.num_full
            threshold = self.calibration.threshold(
                settings_of(self.method, setting, self.policy), wanted
            )
        assert self.method.select is not None  # as of every method that decides during the run
        selected = self.method.select(threshold, setting)
        published = self.method.published(setting) if fit is None else None
        choice = Choice(
            forced,
            f"{self.method.title}, threshold {threshold:.4g}",
            self.policy,
            note=f"coefficients published for {published.model}" if published else "",
            method=self.method.title,
        )
        if isinstance(selected, Gate):
            return choice._replace(gate=selected)
        full = (*selected.full_steps, *forced.full_steps)
        return choice._replace(schedule=Schedule(full, run.num_steps))


def setting_of(patcher, run: Conditions, full: int | None, fit: Any = None) -> Setting:
    """Facts of a run of a MODEL that a method may use.

    Args:
        full: wanted number of full steps, if there is one.
    """
    family, _ = compatibility.identify(patcher)
    signal = family and family.signal
    has_time = signal is not None and signal.of_time is not None
    # Computed once, and only for the method that needs it: the model has to be loaded for it.
    times = functools.cache(lambda: time_changes.of_run(patcher, run.sigmas)) if has_time else None
    return Setting(run.num_steps, full, run.family or "", run.architecture, fit, times)
