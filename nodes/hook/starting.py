"""Start of a run: a plan becomes a choice for the model and the noise levels, or a full run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from ...gph_core.calibration.entry import NOISE_LEVELS
from ...gph_core.paths.choice import FEW_STEPS, Choice, Conditions, never
from ...gph_core.policies.base import Policy, Site
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.policies.fitted import NEEDED, Fitted
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.record import RunRecord
from ...gph_core.schedule import Schedule
from . import compatibility, conditions, fingerprint, samplers

# What fitted weights need to be equal, as it is: looked at first, which is quick.
EXACT = tuple(name for name in NEEDED if name not in NOISE_LEVELS)

BUDGET_MIB = 2048  # of residuals that stay on the model's device, unless the user says otherwise


class RunPlan(Protocol):
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


class RunListener(Protocol):
    """Listener to a run (see ``cache/report.py``); ``started`` comes last before it begins."""

    def planned(self, line: str, choice: Choice) -> None: ...
    def refused(self, reason: str) -> None: ...
    def started(self, run: ActiveRun) -> None: ...
    def stepped(self, step: int, kind: str) -> None: ...
    def finished(self, record: RunRecord) -> None: ...


def choice_of(
    plan: RunPlan, guider, sampler, sigmas: list[float], continues: bool = False,
    holds: Callable[[Policy], bool] = never,
) -> Choice:  # fmt: skip
    """Schedule that a plan gives a guider's run with a sampler on these noise levels.

    Args:
        continues: no noise is added before the first step.
        holds: see ``Conditions``.
    """
    patcher = guider.model_patcher
    # The sampling that other nodes set is not in the model yet.
    sigma_max = float(patcher.get_model_object("model_sampling").sigma_max)
    run = replace(
        conditions_of(guider, sigmas, plan.policy),
        continues=continues, holds=holds, drops_a_level=samplers.drops_a_level(sampler),
    )  # fmt: skip
    return plan.resolve(patcher, run, sigma_max, continues)


def conditions_of(guider, sigmas: list[float], policy: Policy) -> Conditions:
    """Known conditions of a run before it starts."""
    patcher = guider.model_patcher
    family, name = compatibility.identify(patcher)
    config = patcher.model.model_config.unet_config
    return Conditions(
        family and family.name, config, sigmas, policy,
        guided=fingerprint.is_guided(guider) or bool(config.get("guidance_embed")),
        halfway=float(patcher.get_model_object("model_sampling").percent_to_sigma(0.5)),
        name=name,
    )  # fmt: skip


def holds_for(guider, sampler, sigmas: list[float], latent_shape) -> Callable[[Policy], bool]:
    """Test of whether a fitted policy holds for a run."""

    @cache  # a fingerprint of the model takes long, and there may be a thousand paths
    def found() -> dict[str, Any]:
        return conditions.conditions_of(guider, sampler, sigmas, latent_shape)

    @cache
    def can_cache() -> bool:
        return not compatibility.incompatibility(Fitted(), guider.model_patcher, sampler, sigmas)

    def holds(policy: Policy) -> bool:
        if not can_cache() or any(policy.conditions.get(n) != found()[n] for n in EXACT):
            return False
        try:
            conditions.check_policy(policy, found())
        except ValueError:
            return False
        return True

    return holds


def start(
    plan: RunPlan, reporter: RunListener, guider, sampler, sigmas: list[float], latent_shape,
    continues: bool,
) -> ActiveRun:  # fmt: skip
    """Start the run of a plan, or one in full where the plan cannot be applied."""
    patcher = guider.model_patcher
    _, name = compatibility.identify(patcher)
    reason = compatibility.incompatibility(plan.policy, patcher, sampler, sigmas)
    if reason is not None and not _may_take_weights(plan, patcher, sampler, sigmas):
        return _full(plan, reporter, name, sigmas, reason)
    holds = holds_for(guider, sampler, sigmas, latent_shape)
    choice = choice_of(plan, guider, sampler, sigmas, continues, holds)
    reason = compatibility.refusal(choice, patcher, sampler, sigmas)
    if reason is not None:
        return _full(plan, reporter, name, sigmas, reason)
    run = ActiveRun(
        choice.schedule, choice.policy, sigmas, plan.device_budget, name, choice.origin,
        reporter.stepped, plan.for_others, choice.gate, goes_back=samplers.goes_back(sampler),
    )  # fmt: skip
    for note in _notes(plan, choice, guider, sampler, sigmas, latent_shape):
        run.note(note)
    reporter.planned(f"{name}: {_described(choice)}", choice)
    return run


def _may_take_weights(plan: RunPlan, patcher, sampler, sigmas: list[float]) -> bool:
    """Whether fitted weights could stand in for a policy that cannot cache a run of this MODEL.

    They work with models that residual reuse does not know.
    """
    is_free = plan.is_chosen and plan.policy == Reuse()
    return is_free and not compatibility.incompatibility(Fitted(), patcher, sampler, sigmas)


def _notes(
    plan: RunPlan, choice: Choice, guider, sampler, sigmas: list[float], latent_shape
) -> Iterator[str]:
    """Notes on a run whose choice fits the model, but not in every respect."""
    num_steps, caches = len(sigmas) - 1, bool(choice.schedule.num_cached)
    if choice.note:
        yield choice.note
    if caches and (choice.policy.conditions or isinstance(choice.policy, Fitted)):
        found = conditions.conditions_of(guider, sampler, sigmas, latent_shape)
        if note := conditions.check_policy(choice.policy, found):
            yield note
    if num_steps <= FEW_STEPS and choice.gate is not None:
        yield f"{num_steps} steps leave an adaptive method little to decide"
    if num_steps <= FEW_STEPS and plan.is_chosen and caches:
        yield (
            f"{num_steps} steps leave little to choose: a search among all schedules would find "
            "the best one"
        )
    if samplers.is_stochastic(sampler):
        yield (
            f"the sampler {samplers.name(sampler)} adds noise at every step, which cached "
            "steps cannot foresee; expect less quality than with a sampler that does not"
        )


def _full(
    plan: RunPlan, reporter: RunListener, name: str, sigmas: list[float], reason: str
) -> ActiveRun:
    """Start a run in full, and report why."""
    reporter.refused(reason)
    schedule = Schedule.all_full(len(sigmas) - 1)
    run = ActiveRun(schedule, plan.policy, sigmas, family=name, on_step=reporter.stepped)
    run.note(compatibility.in_full(reason))
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
