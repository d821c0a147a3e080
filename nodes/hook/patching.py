"""Attach a cache plan to a MODEL: the only file that touches ComfyUI's model options.

The MODEL clone carries one ``OUTER_SAMPLE`` wrapper and the frozen plan. When sampling starts,
that wrapper creates an ``ActiveRun`` and adds, to the options of this run only, the wrappers of
``calls``. When sampling ends, in whatever way, options and model are what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import comfy.model_patcher
from comfy.patcher_extension import WrappersMP, add_wrapper_with_key

from ...gph_core.paths.choice import FEW_STEPS, Choice, Conditions
from ...gph_core.policies.base import Policy, Site
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.record import RunRecord
from ...gph_core.schedule import Schedule
from . import calls, compatibility, conditions, samplers
from .fingerprint import KEY
from .observing import ObservedCalls, Watcher
from .switch import Switch

BUDGET_MIB = 2048  # of residuals that stay on the model's device, unless the user says otherwise


class Plan(Protocol):
    """Plan that yields a schedule or a gate when sampling starts and the run is known.

    ``device_budget`` is in bytes of anchors that stay on the model's device; ``for_others`` says
    that runs under other schedules go on from states of this one.
    """

    @property
    def policy(self) -> Policy: ...
    @property
    def device_budget(self) -> float: ...
    @property
    def for_others(self) -> bool: ...
    @property
    def is_chosen(self) -> bool:
        """Whether the schedule is ours to choose, not the user's."""
        ...

    def check(self, guider, sampler, sigmas, latent) -> str | None:
        """Note on a run that the plan does not quite fit.

        Raises ``ValueError`` if the plan does not fit at all.
        """
        ...

    def resolve(self, patcher, run: Conditions, sigma_max: float, continues: bool) -> Choice:
        """Choice for a run of a MODEL; ``ValueError`` if it cannot be carried out there."""
        ...


class Reporter(Protocol):
    """Listener to a run (see ``report.py``); ``started`` comes last before it begins."""

    def planned(self, line: str, choice: Choice) -> None: ...
    def refused(self, reason: str) -> None: ...
    def started(self, run: ActiveRun) -> None: ...
    def stepped(self, step: int, kind: str) -> None: ...
    def finished(self, record: RunRecord) -> None: ...


def attach(model, plan: Plan, reporter: Reporter, switch: Switch | None = None):
    """Clone of the MODEL that samples under the plan; the MODEL itself stays unchanged.

    Args:
        switch: lets calls bypass the cache.
    """
    # A second cache node on the same model replaces the first: two would cache each other's steps.
    patched = without_cache(model)
    patched.add_wrapper_with_key(
        WrappersMP.OUTER_SAMPLE, KEY, _PlannedSampling(plan, reporter, switch)
    )
    return patched


def plan_of(model) -> Plan | None:
    """Plan that a MODEL samples under; None without a cache of this pack."""
    found = model.get_wrappers(WrappersMP.OUTER_SAMPLE, KEY)
    return next((w.plan for w in found if isinstance(w, _PlannedSampling)), None)


def without_cache(model):
    """Clone of the MODEL that computes every step in full."""
    plain = model.clone()
    plain.remove_wrappers_with_key(WrappersMP.OUTER_SAMPLE, KEY)
    return plain


def watched(model, watcher: Watcher):
    """Clone of the MODEL that computes every step in full and reports each."""

    def wrappers(sigmas: list[float]) -> Mapping[str, Callable]:
        run = ActiveRun(Schedule.all_full(len(sigmas) - 1), Reuse(), sigmas)
        return ObservedCalls(run, watcher).wrappers()

    return wrapped(model, wrappers)


def wrapped(model, wrappers: Callable[[list[float]], Mapping[str, Callable]]):
    """Clone of the MODEL whose calls go through wrappers instead of a cache.

    Args:
        wrappers: from the noise levels of a run to its wrappers by their place in ComfyUI.
    """
    patched = without_cache(model)

    def outer_sample(executor, noise, latent_image, sampler, sigmas, *args, **kwargs):
        with _wrapped(executor.class_obj, wrappers(sigmas.tolist())):
            return executor(noise, latent_image, sampler, sigmas, *args, **kwargs)

    patched.add_wrapper_with_key(WrappersMP.OUTER_SAMPLE, KEY, outer_sample)
    return patched


def choice_of(plan: Plan, patcher, sigmas: list[float], continues: bool = False) -> Choice:
    """Schedule that a plan gives a run of a MODEL on these noise levels.

    Args:
        continues: no noise is added before the first step.
    """
    # The sampling that other nodes set is not in the model yet.
    sigma_max = float(patcher.get_model_object("model_sampling").sigma_max)
    return plan.resolve(patcher, conditions_of(patcher, sigmas, plan.policy), sigma_max, continues)


def conditions_of(patcher, sigmas: list[float], policy: Policy) -> Conditions:
    """Known conditions of a run before it starts."""
    family, _ = compatibility.identify(patcher)
    config = patcher.model.model_config.unet_config
    return Conditions(family and family.name, config, sigmas, policy)


@dataclass(frozen=True)
class _PlannedSampling:
    """Wrapper that ``attach`` adds."""

    plan: Plan
    reporter: Reporter
    switch: Switch | None

    def __call__(self, executor, noise, latent_image, sampler, sigmas, *args, **kwargs):
        if len(sigmas) < 2:  # no step to take
            return executor(noise, latent_image, sampler, sigmas, *args, **kwargs)
        guider, plan, reporter = executor.class_obj, self.plan, self.reporter
        note = plan.check(guider, sampler, sigmas, latent_image)
        continues, shape = not noise.any(), latent_image.shape
        run = _start(plan, reporter, guider, sampler, sigmas.tolist(), shape, continues)
        if note and run.schedule.num_cached:
            run.note(note)
        wrappers = calls.wrappers(run)
        if self.switch is not None:
            wrappers = self.switch.over(wrappers)
        with _wrapped(guider, wrappers) as options:
            if "easycache" in options and run.schedule.num_cached:
                run.note("EasyCache is active too: the errors of both add up")
            reporter.started(run)
            try:
                return executor(noise, latent_image, sampler, sigmas, *args, **kwargs)
            finally:
                reporter.finished(run.finish())


@contextmanager
def _wrapped(guider, wrappers: Mapping[str, Callable]) -> Iterator[dict]:
    """Route the guider's calls in the block through wrappers; yields its transformer options."""
    original = guider.model_options
    guider.model_options = comfy.model_patcher.create_model_options_clone(original)
    options = guider.model_options.setdefault("transformer_options", {})
    for kind, wrapper in wrappers.items():
        add_wrapper_with_key(kind, KEY, wrapper, options)
    try:
        yield options
    finally:
        guider.model_options = original


def _start(
    plan: Plan, reporter: Reporter, guider, sampler, sigmas: list[float], latent_shape,
    continues: bool,
) -> ActiveRun:  # fmt: skip
    """Start the run of a plan, or one in full where the plan cannot be applied."""
    patcher, num_steps = guider.model_patcher, len(sigmas) - 1
    _, name = compatibility.identify(patcher)
    reason = compatibility.obstacle(plan.policy, patcher, sampler, sigmas)
    if reason is not None:
        return _full(plan, reporter, name, sigmas, reason)
    choice = choice_of(plan, patcher, sigmas, continues)
    reason = compatibility.gate_obstacle(choice, patcher)
    if reason is not None:
        return _full(plan, reporter, name, sigmas, reason)
    run = ActiveRun(
        choice.schedule, choice.policy, sigmas, plan.device_budget, name, choice.origin,
        reporter.stepped, plan.for_others, choice.gate,
    )  # fmt: skip
    if choice.note:
        run.note(choice.note)
    if choice.schedule.num_cached:
        note = conditions.check_policy(choice.policy, guider, sampler, sigmas, latent_shape)
        if note:
            run.note(note)
    if num_steps <= FEW_STEPS and choice.gate is not None:
        run.note(f"{num_steps} steps leave an adaptive method little to decide")
    if num_steps <= FEW_STEPS and plan.is_chosen and choice.schedule.num_cached:
        run.note(
            f"{num_steps} steps leave little to choose: a search among all schedules would find "
            "the best one"
        )
    if samplers.is_stochastic(sampler):
        run.note(
            f"the sampler {samplers.name(sampler)} adds noise at every step, which cached "
            "steps cannot foresee; expect less quality than with a sampler that does not"
        )
    reporter.planned(f"{name}: {_described(choice)}", choice)
    return run


def _described(choice: Choice) -> str:
    """Line that describes a run."""
    schedule, policy = choice.schedule, choice.policy
    known = f"{schedule.num_full} of {schedule.num_steps} steps full"
    saved = "model calls" if policy.site is not Site.STACK else "block evaluations"
    ideal = schedule.num_steps / schedule.num_full
    if choice.gate is not None:
        return (
            f"{choice.origin} decides at each step, except that {known} in any case ({schedule}), "
            f"policy {policy}, at most {ideal:.1f}x fewer {saved}"
        )
    return (
        f"{known} ({choice.origin}: {schedule}), policy {policy}, at most {ideal:.1f}x fewer "
        f"{saved}"
    )


def _full(plan: Plan, reporter: Reporter, name: str, sigmas: list[float], reason: str) -> ActiveRun:
    """Start a run in full, and report why."""
    reporter.refused(reason)
    schedule = Schedule.all_full(len(sigmas) - 1)
    run = ActiveRun(schedule, plan.policy, sigmas, family=name, on_step=reporter.stepped)
    run.note(compatibility.in_full(reason))
    return run
