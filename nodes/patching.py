"""Attach a cache plan to a MODEL: the only file that touches ComfyUI's model options.

The MODEL clone carries one ``OUTER_SAMPLE`` wrapper and the frozen plan. When sampling starts,
that wrapper creates an ``ActiveRun`` and adds, to the options of this run only, the wrappers of
``calls``. When sampling ends, in whatever way, options and model are what they were.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Protocol

import comfy.model_patcher
from comfy.patcher_extension import WrappersMP, add_wrapper_with_key

from ..gph_core import families, speeds
from ..gph_core.active_run import ActiveRun
from ..gph_core.choice import FEW_STEPS, Choice, Conditions
from ..gph_core.custom import fit
from ..gph_core.families import Family
from ..gph_core.library import bundled_paths
from ..gph_core.mean_velocity import MeanVelocity
from ..gph_core.policies import Policy, Site
from ..gph_core.record import RunRecord
from ..gph_core.schedule import Schedule
from . import calls, samplers, user_paths

KEY = "golden_path"
BUDGET_MIB = 2048  # of residuals that stay on the model's device, unless the user says otherwise


@dataclass(frozen=True, slots=True)
class CachePlan:
    """What the user chose; becomes a schedule when sampling starts and N is known."""

    speed: str
    custom: Schedule | None
    policy: Policy
    device_budget: float = BUDGET_MIB * 2**20  # bytes of anchors that stay on the model's device
    for_others: bool = False  # runs under other schedules go on from states of this one

    def resolve(self, run: Conditions, sigma_max: float, continues: bool) -> Choice:
        if self.custom is None:
            return speeds.resolve(self.speed, run, user_paths.read() + bundled_paths())
        return fit(self.custom, self.policy, run.sigmas, sigma_max, continues)


class Reporter(Protocol):
    """Who is told about a run (see ``report.py``); ``started`` comes last before it begins."""

    def planned(self, line: str, choice: Choice) -> None: ...
    def refused(self, reason: str) -> None: ...
    def started(self, run: ActiveRun) -> None: ...
    def stepped(self, step: int, kind: str) -> None: ...
    def finished(self, record: RunRecord) -> None: ...


def attach(model, plan: CachePlan, reporter: Reporter):
    """A clone of the MODEL that samples under the plan; the MODEL itself stays as it is."""
    # A second cache node on the same model replaces the first: two would cache each other's steps.
    patched = without_cache(model)
    patched.add_wrapper_with_key(WrappersMP.OUTER_SAMPLE, KEY, _outer_sample(plan, reporter))
    return patched


def without_cache(model):
    """A clone of the MODEL that computes every step in full."""
    plain = model.clone()
    plain.remove_wrappers_with_key(WrappersMP.OUTER_SAMPLE, KEY)
    return plain


def refuse_other_caches(patcher) -> None:
    """``ValueError`` if one of ComfyUI's own caches acts on a MODEL: no run would be in full."""
    cache = patcher.model_options.get("transformer_options", {}).get("easycache")
    if cache is not None:
        raise ValueError(
            f"{cache.name} is active on this model, so that no run of it is a full one that others "
            f"could be compared with; take {cache.name} out of the workflow"
        )


def identify(patcher) -> tuple[Family | None, str]:
    """A MODEL's family, if it is known, and what to call it."""
    transformer = calls.uncompiled(patcher.model.diffusion_model)
    family = families.detect(transformer)
    return family, family.name if family else type(transformer).__name__


def choice_of(plan: CachePlan, patcher, sigmas: list[float], continues: bool = False) -> Choice:
    """The schedule that a plan gives a run of a MODEL on these noise levels.

    Args:
        continues: no noise is added before the first step.
    """
    # The sampling that other nodes set is not in the model yet.
    sigma_max = float(patcher.get_model_object("model_sampling").sigma_max)
    return plan.resolve(conditions_of(patcher, sigmas, plan.policy), sigma_max, continues)


def conditions_of(patcher, sigmas: list[float], policy: Policy) -> Conditions:
    """What is known of a run before it starts."""
    family, _ = identify(patcher)
    config = patcher.model.model_config.unet_config
    return Conditions(family and family.name, config, sigmas, policy)


def _outer_sample(plan: CachePlan, reporter: Reporter):
    def outer_sample(executor, noise, latent_image, sampler, sigmas, *args, **kwargs):
        if len(sigmas) < 2:  # no step to take
            return executor(noise, latent_image, sampler, sigmas, *args, **kwargs)
        guider = executor.class_obj
        continues = not noise.any()
        run = _start(plan, reporter, guider.model_patcher, sampler, sigmas.tolist(), continues)
        original = guider.model_options
        guider.model_options = comfy.model_patcher.create_model_options_clone(original)
        options = guider.model_options.setdefault("transformer_options", {})
        if "easycache" in options:
            run.note("EasyCache is active too: the errors of both add up")
        reporter.started(run)
        for kind, wrapper in calls.wrappers(run).items():
            add_wrapper_with_key(kind, KEY, wrapper, options)
        try:
            return executor(noise, latent_image, sampler, sigmas, *args, **kwargs)
        finally:
            guider.model_options = original
            reporter.finished(run.finish())

    return outer_sample


def _start(
    plan: CachePlan, reporter: Reporter, patcher, sampler, sigmas: list[float], continues: bool
) -> ActiveRun:
    """The run of a plan, or one in full where the plan cannot be applied."""
    num_steps = len(sigmas) - 1
    _, name = identify(patcher)
    reason = obstacle(plan.policy, patcher, sampler, sigmas)
    if reason is not None:
        reporter.refused(reason)
        schedule = Schedule.all_full(num_steps)
        run = ActiveRun(
            schedule, plan.policy, sigmas, family=name, origin="", on_step=reporter.stepped
        )
        run.note(reason)
        return run
    choice = choice_of(plan, patcher, sigmas, continues)
    run = ActiveRun(
        choice.schedule, choice.policy, sigmas, plan.device_budget, name, choice.origin,
        reporter.stepped, plan.for_others,
    )  # fmt: skip
    if num_steps <= FEW_STEPS and plan.custom is None and choice.schedule.num_cached:
        run.note(
            f"{num_steps} steps leave little to choose: a search among all schedules would find "
            "the best one"
        )
    if samplers.is_stochastic(sampler):
        run.note(
            f"the sampler {samplers.name(sampler)} adds noise at every step, which cached "
            "steps cannot foresee; expect less quality than with a sampler that does not"
        )
    ideal = num_steps / choice.schedule.num_full
    reporter.planned(
        f"{name}: {choice.schedule.num_full} of {num_steps} steps full ({choice.origin}: "
        f"{choice.schedule}), policy {choice.policy}, at most {ideal:.1f}x fewer "
        f"{'model calls' if plan.policy.site is not Site.STACK else 'block evaluations'}",
        choice,
    )
    return run


def obstacle(policy: Policy, patcher, sampler, sigmas: list[float]) -> str | None:
    """Why a run has to be computed in full, or None."""
    family, name = identify(patcher)
    sampler_name = samplers.name(sampler)
    said = f"the sampler {sampler_name}"
    for step, (sigma, following) in enumerate(itertools.pairwise(sigmas)):
        if following >= sigma:
            return (
                f"the noise levels do not fall at step {step} ({sigma:g} to {following:g}); all "
                "steps are computed in full"
            )
    if policy.site is Site.STACK and family is None:
        return (
            f"{name} is not a supported transformer (docs/models.md lists them); all steps are "
            "computed in full. The policies on outputs and velocities work with any model"
        )
    if samplers.needs_every_call(sampler_name):
        return f"{said} needs all of its model calls; they are computed in full"
    if policy.site is Site.GUIDED and samplers.reads_the_branches(sampler_name):
        return (
            f"{said} needs both prompts at every step, which {policy} leaves out; all steps are "
            "computed in full. Choose a residual policy, or the sampler without cfg_pp"
        )
    if isinstance(policy, MeanVelocity) and samplers.is_stochastic(sampler):
        return (
            f"{policy} follows the states of the run, to which {said} adds noise; all steps are "
            "computed in full. Choose another policy or sampler"
        )
    return None
