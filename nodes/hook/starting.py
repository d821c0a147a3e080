"""Start of a run: a plan becomes a choice for the model and the noise levels, or a full run.

A node that learns may have a run computed in full before that, and look at it afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from ...gph_core.calibration.fitted import check_policy
from ...gph_core.paths.conditions import Choice
from ...gph_core.paths.speeds import IN_FULL
from ...gph_core.policies.base import Site
from ...gph_core.policies.damped_velocity import DampedVelocity
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.policies.fitted import Fitted
from ...gph_core.run.active_run import ActiveRun
from ...gph_core.run.record import RunRecord
from ...gph_core.run_plan import RunPlan
from ...gph_core.schedule import Schedule
from ...gph_core.texts import counted
from . import compatibility, samplers
from .setup import SamplingSetup

FEW_STEPS = 10  # a run of so many or fewer is told what that means
_LOG = logging.getLogger(__name__)


class RunListener(Protocol):
    """Listener to a run (see ``cache/report.py``); ``started`` is called just before it begins."""

    def planned(self, line: str, choice: Choice) -> None: ...
    def refused(self, reason: str) -> None: ...
    def started(self, run: ActiveRun) -> None: ...
    def stepped(self, step: int, kind: str) -> None: ...
    def finished(self, record: RunRecord) -> None: ...


class Inputs(NamedTuple):
    """Inputs of a sampling as ComfyUI prepares them.

    Args:
        conds: of the guider, by name.
        noise, latent, mask: ``[B, C, ...]``, packed if they are of several kinds.
        shapes: of the kinds, B included.
    """

    conds: Mapping[str, list]
    noise: Tensor
    latent: Tensor
    mask: Tensor | None
    seed: int
    shapes: Sequence[Sequence[int]] = ()

    @property
    def continues(self) -> bool:
        """Whether no noise is added before the first step."""
        return not self.noise.any()


@dataclass(frozen=True)
class Lesson:
    """How one run is sampled.

    Args:
        sampler: in place of the run's; it does the same.
        notes: for the report.
        done: called after a whole run, returns further notes.
    """

    plan: RunPlan
    sampler: Any
    notes: Sequence[str] = ()
    done: Callable[[RunRecord], Sequence[str]] = lambda record: ()


class Learner(Protocol):
    """Makes a plan that learns from runs; see ``learn/learner.py``."""

    def lesson(self, plan: RunPlan, setup: SamplingSetup, inputs: Inputs) -> Lesson:
        """The lesson of a run; what it samples itself may be cancelled."""
        ...


def lesson_of(
    learner: Learner | None, plan: RunPlan, setup: SamplingSetup, noise: Tensor, latent: Tensor,
    mask: Tensor | None, seed: int | None = None, latent_shapes: Sequence = (), **_: Any,
) -> Lesson:  # fmt: skip
    """The lesson of a run from ComfyUI's arguments; the plan itself without a learner."""
    if learner is None:
        return Lesson(plan, setup.sampler)
    conds = dict(setup.guider.original_conds)
    return learner.lesson(
        plan, setup, Inputs(conds, noise, latent, mask, seed or 0, latent_shapes)
    )  # fmt: skip


def after_whole(lesson: Lesson, record: RunRecord) -> Sequence[str]:
    """Notes of what a lesson does after a whole run, whose image no error may cost."""
    try:
        return lesson.done(record)
    except Exception as error:
        _LOG.warning("learning failed", exc_info=True)
        return [f"nothing is learned from this run ({error or type(error).__name__})"]


def start(plan: RunPlan, reporter: RunListener, setup: SamplingSetup, continues: bool) -> ActiveRun:
    """Start a run under a plan, or a full run if the plan cannot be applied.

    Raises ``ValueError`` if the plan is clearly meant for other runs.
    """
    calibration_note = plan.check(lambda: setup.conditions)
    reason = setup.incompatibility(plan.policy)
    if reason is not None and not _may_take_another(plan, setup):
        return _full(plan, reporter, setup, reason)
    choice = setup.choice_of(plan, continues)
    reason = setup.refusal(choice)
    if reason is not None:
        return _full(plan, reporter, setup, reason)
    run = ActiveRun(
        choice.schedule, choice.policy, setup.sigmas, plan.device_budget, setup.name,
        choice.origin, reporter.stepped, plan.for_others, choice.gate,
        goes_back=samplers.goes_back(setup.sampler),
    )  # fmt: skip
    for note in _notes(plan, choice, setup):
        run.note(note)
    reporter.planned(f"{setup.name}: {_described(choice, plan)}", choice)
    if calibration_note and choice.schedule.num_cached:
        run.note(calibration_note)
    return run


def _may_take_another(plan: RunPlan, setup: SamplingSetup) -> bool:
    """Whether another policy could stand in for one that cannot cache a run of this MODEL.

    The default and fitted weights also work with models that residual reuse does not support.
    """
    stands_for_others = plan.is_chosen and plan.policy == Reuse()
    return stands_for_others and setup.incompatibility(Fitted()) is None


def _notes(plan: RunPlan, choice: Choice, setup: SamplingSetup) -> Iterator[str]:
    """Notes on what is less than ideal in a run that can be cached."""
    num_steps, caches = setup.num_steps, bool(choice.schedule.num_cached)
    yield from choice.note.splitlines()
    needs = bool(choice.policy.conditions) or isinstance(choice.policy, Fitted)
    if caches and needs and (note := check_policy(choice.policy, setup.conditions)):
        yield note
    if plan.is_chosen and num_steps <= IN_FULL:
        yield f"{counted(num_steps, 'step')}: too few to cache any, so all are computed in full"
    if num_steps <= FEW_STEPS and choice.gate is not None:
        yield f"with {num_steps} steps an adaptive method has little to decide"
    is_known = isinstance(choice.policy, Fitted)  # then the path says what it is worth
    if num_steps <= FEW_STEPS and plan.is_chosen and caches and not is_known:
        yield (
            f"of {num_steps} steps each cached one shows more than in a longer run; Golden Path "
            "Compare Run shows how much, and learn makes it less"
        )
    if samplers.is_stochastic(setup.sampler):
        yield (
            f"the sampler {samplers.name(setup.sampler)} adds noise at every step, which cached "
            "steps cannot foresee; expect less quality than with a sampler that does not"
        )


def _full(plan: RunPlan, reporter: RunListener, setup: SamplingSetup, reason: str) -> ActiveRun:
    """Start a full run, and report why."""
    reporter.refused(reason)
    schedule = Schedule.all_full(setup.num_steps)
    run = ActiveRun(
        schedule, plan.policy, setup.sigmas, family=setup.name, on_step=reporter.stepped
    )
    run.note(compatibility.in_full(reason))
    return run


def _described(choice: Choice, plan: RunPlan) -> str:
    """Line that describes a run."""
    schedule, policy = choice.schedule, choice.policy
    is_default = plan.is_free and isinstance(policy, DampedVelocity)
    used = f"policy {policy}{' (the default without a path)' if is_default else ''}"
    full = f"{schedule.num_full} of {schedule.num_steps} steps full"
    if not schedule.num_cached and choice.gate is None:
        return f"{full} ({choice.origin})"
    saved = "model calls" if policy.site is not Site.STACK else "block evaluations"
    ideal = schedule.num_steps / schedule.num_full
    if choice.gate is not None:
        return (
            f"{choice.origin} decides at each step, except that {full} in any case ({schedule}), "
            f"{used}, at most {ideal:.1f}x fewer {saved}"
        )
    return f"{full} ({choice.origin}: {schedule}), {used}, at most {ideal:.1f}x fewer {saved}"
