"""Learning while the user works: what each run does for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import comfy.model_management
import torch
from torch import Tensor

from ...gph_core.paths.conditions import Choice
from ...gph_core.paths.golden_path import LEARNED
from ...gph_core.policies.base import Site
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.policies.fitted import Fitted
from ...gph_core.run.record import RunRecord
from ...gph_core.run_plan import RunPlan, settled
from ...gph_core.schedule import Schedule
from ..hook.setup import SamplingSetup
from ..hook.starting import Inputs, Lesson
from ..sample.sampler_steps import steps_of
from ..sample.sampler_variants import CPU, reporting_evaluated
from .fitting import fit_and_save
from .remembered import REMEMBERED, Example, Recorder
from .replay import changes_its_scale, sampling_of
from .settings import Settings

NOTHING = "nothing is learned from this run"
OTHER_CALLS = "the sampler did not evaluate the model once a step; choose another, such as euler"
NOT_FINITE = "the full run has values that are not finite"
OTHER_SCALE = (
    "the guider changes its scale during the run, so no weights fit; take a guider that keeps it"
)
CANCELLED = "the fit was cancelled; the images are remembered, and the next run begins with it"


class LearnListener(Protocol):
    """Listener to what a run learns (see ``cache/report.py``)."""

    def learned(self, name: str) -> None:
        """Something was learned before: a path of this name, or that it would bring nothing."""
        ...

    def fitting(self, line: str) -> None:
        """Weights are being fitted."""
        ...


@dataclass(frozen=True)
class Learner:
    """Learns a path from the first runs, which are full; see ``hook/starting.py``.

    Args:
        wanted: number of images to learn from.
    """

    wanted: int
    listener: LearnListener

    def lesson(self, plan: RunPlan, setup: SamplingSetup, inputs: Inputs) -> Lesson:
        """What a run does: with a path nothing new, else it is computed in full and remembered.

        If enough images are remembered already, the weights are fitted first.
        """
        lesson = Lesson(plan, setup.sampler)
        choice = setup.choice_of(plan, inputs.continues)
        is_full = choice.num_wanted >= setup.num_steps or not choice.schedule.num_cached
        if is_full or self._is_learned(choice):
            return lesson
        settings = Settings.of(setup, choice.num_wanted)
        if known := settings.outcome(self.wanted):
            self.listener.learned(settings.name)
            return replace(lesson, notes=[known])
        with torch.random.fork_rng():  # the run draws what it would without the node
            reason = obstacle(settings, inputs)
        if reason:
            return replace(lesson, notes=[f"{NOTHING}: {reason}"])
        have = sum(map(len, REMEMBERED.of(settings.folder)))
        if have >= self.wanted:
            return replace(lesson, notes=[fit_and_save(settings, inputs, self.listener.fitting)])
        return self._remembering(settings, inputs, have)

    def _is_learned(self, choice: Choice) -> bool:
        """Whether a choice has weights, if learned ones then from enough images."""
        path = choice.path
        if path is None or not isinstance(path.policy, Fitted):
            return False
        return path.origin != LEARNED or path.policy.examples >= self.wanted

    def _remembering(self, settings: Settings, inputs: Inputs, have: int) -> Lesson:
        """A full run, of which as many images are remembered as are still wanted."""
        num_steps = settings.setup.num_steps
        count = min(self.wanted - have, len(inputs.noise))
        last = have + count
        recorder = Recorder(num_steps + 1, count)
        which = f"image {last}" if count == 1 else f"images {have + 1} to {last}"
        full = Choice(
            Schedule.all_full(num_steps),
            f"learning: {which} of {self.wanted}, computed in full",
            Reuse(Site.GUIDED),
        )

        def done(record: RunRecord) -> Sequence[str]:
            if recorder.states is None or not recorder.states.isfinite().all():
                settings.failed(OTHER_CALLS if recorder.states is None else NOT_FINITE)
                return [settings.outcome(0)]
            reason = REMEMBERED.add(settings.folder, example_of(inputs, recorder.states))
            notes = [f"this run is remembered only until ComfyUI ends: {reason}"] if reason else []
            if last < self.wanted:
                factor = num_steps / settings.num_full
                return [*notes, f"from image {self.wanted + 1} on about {factor:.1f} times faster"]
            seconds = sum(record.full_seconds) / num_steps / len(inputs.noise)
            try:
                return [*notes, fit_and_save(settings, inputs, self.listener.fitting, seconds)]
            except comfy.model_management.InterruptProcessingException:
                return [*notes, CANCELLED]  # the image is delivered

        sampler = reporting_evaluated(settings.setup.sampler, recorder.keep)
        return Lesson(settled(full), sampler, done=done)


def obstacle(settings: Settings, inputs: Inputs) -> str:
    """Why nothing can be learned from a run, with what to do instead; empty if something can.

    So it is said before the first image is spent.
    """
    setup = settings.setup
    if reason := setup.incompatibility(Fitted()):
        return reason
    try:
        steps_of(setup)
        settings.check_saving()
        example = example_of(inputs, torch.empty(0, 1))
        sampling = sampling_of(example, 1, setup.guider, setup.sampler, setup.sigmas)
        return OTHER_SCALE if changes_its_scale(sampling) else ""
    except comfy.model_management.InterruptProcessingException:
        raise
    except Exception as error:  # of any kind, as the guider may be another extension's
        return str(error) or type(error).__name__


def example_of(inputs: Inputs, states: Tensor) -> Example:
    """The first images of a run, as many as there are states ``[N + 1, B, ...]`` of."""

    def some(part: Tensor | None) -> Tensor | None:
        return None if part is None else part[: states.shape[1]].to(CPU, copy=True)

    noise, latent, mask = map(some, (inputs.noise, inputs.latent, inputs.mask))
    assert noise is not None
    assert latent is not None
    return Example(
        inputs.conds, noise, latent, mask, inputs.seed, list(map(list, inputs.shapes)), states
    )  # fmt: skip
