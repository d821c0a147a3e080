"""Threshold at which an adaptive method caches a wanted number of steps on examples."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..calibration.entry import Calibration, fit_of
from ..calibration.outcome import Outcome, decided, outcome_in
from ..calibration.threshold import FoundThreshold, find_threshold
from ..methods.method import Method, Setting, settings_of
from ..paths.conditions import Choice
from ..policies.base import Policy
from ..run.record import RunRecord
from ..run_plan import RunPlan, adaptive, setting_of
from ..schedule import Schedule
from ..texts import counted
from .calibrating import Save
from .runner import Examples

RUNS_OF_EACH = 6  # about as many runs of each example find a threshold
SAVE_PAUSE_S = 5.0

OnPart = Callable[[float], None]  # told the part that is done, 0 to 1; cancels by an exception
# Record of the run of an example, by number, under a plan. Tells the steps that are done, and
# raises ``ValueError`` if the result is not finite.
Under = Callable[[int, RunPlan, Callable[[int], None]], RunRecord]


def calibrate_ratio(
    examples: Examples, under: Under, method: Method, policy: Policy, num_full: int,
    entry: Calibration | None = None, progress: OnPart = lambda part: None,
    save: Save = lambda *entries: None,
) -> tuple[Calibration, FoundThreshold]:  # fmt: skip
    """Calibration with the threshold for N - ``num_full`` cached steps, and its outcome.

    Args:
        entry: entry of the method; runs that it holds are not repeated.
        save: gets the entry every few seconds, and at the end, even after an error.

    Raises:
        ValueError: the method lacks what it needs, cannot cache so many steps or cannot cache at
            all in this workflow, the entry was made under other conditions, or it has this
            threshold from more examples.
    """
    conditions = examples.setup.conditions
    entry = entry or Calibration(method.name, conditions)
    entry.check(conditions)
    setting = setting_of(examples.setup.known(policy), num_full, fit_of(method, entry))
    assert method.select is not None  # as of every method that has a threshold
    selected = method.select(1.0, setting)  # says what it lacks
    is_decided = isinstance(selected, Schedule)
    forced = method.forced(setting, policy)
    gate, title = None if is_decided else selected, method.title
    choice = Choice(forced, title, policy, gate, method=title)
    if reason := examples.setup.refusal(choice):
        raise ValueError(f"{method.title} has no threshold in this workflow: {reason}")
    settings = settings_of(method, setting, policy)
    _keep_better(entry, settings, examples)
    trials = _Trials(
        examples, under, method, policy, num_full, forced, entry, settings, progress, save
    )
    target, most = examples.num_steps - num_full, forced.num_cached
    if is_decided:  # alike for all examples
        run = partial(decided, partial(_schedule, method, setting, forced))
        found = find_threshold(run, 1, target, max_cached=most)
    else:
        found = trials.find(target, most)
    changed = trials.entry.with_threshold(settings, found)
    if changed.thresholds != entry.thresholds:
        save(changed)
    return changed, found


def _keep_better(entry: Calibration, settings: Mapping[str, Any], examples: Examples) -> None:
    found = entry.facts_on(settings, examples.num_steps - settings["full steps"])
    if found is not None and found["num_examples"] > len(examples):
        raise ValueError(
            f"{entry.file} has the threshold of {entry.method} for {settings['full steps']} full "
            f"steps from {counted(found['num_examples'], 'example')}, more than the "
            f"{len(examples)} of this run; use that threshold, connect as many examples, or "
            "choose another name"
        )


@dataclass
class _Trials:
    """Runs of the examples at thresholds, and the entry that keeps them."""

    examples: Examples
    under: Under
    method: Method
    policy: Policy
    num_full: int
    forced: Schedule
    entry: Calibration
    settings: dict
    progress: OnPart
    save: Save

    def find(self, target: float, most: int) -> FoundThreshold:
        """Find the threshold for a target; runs made so far are saved if it cannot be found."""
        names = self.examples.names()
        earlier = self.entry.outcomes(self.settings, names)
        self._count, self._saved_at = 0, time.monotonic()
        before = len(self.entry.runs)

        def keep(example: int, outcome: Outcome) -> None:
            self.entry = self.entry.with_run(self.settings, names[example], outcome)
            if time.monotonic() > self._saved_at + SAVE_PAUSE_S:
                self.save(self.entry)
                self._saved_at = time.monotonic()

        try:
            return find_threshold(
                self.run, len(names), target, max_cached=most, earlier=earlier, on_run=keep
            )
        finally:
            if len(self.entry.runs) > before:
                self.save(self.entry)

    def run(self, example: int, threshold: float) -> Outcome:
        """Run one example at a threshold."""
        total = RUNS_OF_EACH * len(self.examples)

        def on_part(part: float) -> None:
            self.progress(min((self._count + part) / total, 1))

        on_part(0.0)
        plan = adaptive(self.method, self.policy, threshold, self.num_full, self.entry)
        plan = replace(plan, calibration=None)  # its conditions were checked before
        n = self.examples.num_steps
        record = self.under(example, plan, lambda step: on_part((step + 1) / n))
        self._count += 1
        return outcome_in(record, threshold, self.forced)


def _schedule(method: Method, setting: Setting, forced: Schedule, threshold: float) -> Schedule:
    """Schedule at a threshold, of a method that decides before the run."""
    selected = method.select(threshold, setting) if method.select else forced
    assert isinstance(selected, Schedule)
    return Schedule((*selected.full_steps, *forced.full_steps), setting.num_steps)
