"""Repeated sampling from the same noise: in full, under schedules, or resumed from states."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import comfy.model_management
import comfy.sample
import comfy.utils
import torch
from torch import Tensor

from ...gph_core.calibration.samples import Together
from ...gph_core.policies.base import Policy
from ...gph_core.run.record import RunRecord
from ...gph_core.run_plan import RunPlan, fixed
from ...gph_core.schedule import Schedule
from ...gph_core.search.prefix import PrefixMemory, State
from ..hook import compatibility, compiler, patching
from ..hook.branch_calls import OUT_OF_MEMORY
from ..hook.calls import Switch
from ..hook.setup import SamplingSetup
from ..schema.wires import is_finite
from .observers import Keeper, Observer
from .sampler_variants import CPU, ending_after, starting_from

NOT_FINITE = (
    "a full run contains values that are not finite, so nothing can be compared with it; look at "
    "an image of this prompt and seed without Golden Path first"
)


@dataclass(frozen=True)
class Sampling:
    """Inputs of a sampler node, as ComfyUI passes them; the guider's model stays unchanged.

    Raises ``ValueError`` if another cache acts on that model.
    """

    guider: Any
    noise: Any
    latent: Any
    sampler: Any
    sigmas: Tensor
    seed: int
    name: Hashable = None  # of its states in a memory
    mask: Tensor | None = None
    prompts: tuple[str, ...] = ()  # of its items; empty if unknown

    def __post_init__(self) -> None:
        compatibility.refuse_other_caches(self.guider.model_patcher)

    @cached_property
    def setup(self) -> SamplingSetup:
        """What this run shares with others."""
        latent = self.latent
        if latent.is_nested:  # sampled as one
            latent, _ = comfy.utils.pack_latents(latent.unbind())
        return SamplingSetup(self.guider, self.sampler, self.sigmas.tolist(), latent.shape)

    def full(self, callback: Callable | None = None) -> Tensor:
        """Latent of a full run."""
        return self._sample(patching.uncached(self.guider.model_patcher), self.sampler, callback)

    def watched(self, watcher: Together, callback: Callable | None = None) -> Tensor:
        """Like ``full``, with a watcher that observes the run."""
        model = patching.watched(self.guider.model_patcher, watcher)
        return self._sample(model, self.sampler, callback)

    def through(self, wrappers: Mapping[str, Callable], callback: Callable | None = None) -> Tensor:
        """Like ``full``, with the model's calls going through wrappers."""
        model = patching.wrapped(self.guider.model_patcher, lambda _: wrappers)
        return self._sample(model, self.sampler, callback)

    def plain(self, sigmas: Tensor, callback: Callable | None = None) -> Tensor:
        """Latent of a full run on other noise levels."""
        return replace(self, sigmas=sigmas).full(callback)

    def warm_up(self, schedule: Schedule, policy: Policy) -> None:
        """Sample up to the first cached step.

        Timed runs that follow find the model loaded, and compiled for both kinds of steps.
        ``ValueError`` says why a run under the policy cannot be cached.
        """
        # Under this very schedule: weights may have been fitted for no other.
        begun = replace(self, sampler=ending_after(self.sampler, schedule.cached_steps[0] + 1))
        latent, _ = begun.cached(schedule, policy)
        latent.to(CPU)  # waits for the device

    def cached(
        self, schedule: Schedule, policy: Policy, callback: Callable | None = None
    ) -> tuple[Tensor, RunRecord]:
        """Latent and record of a run under a schedule."""
        return self.under(fixed(schedule, policy), callback)

    def under(
        self,
        plan: RunPlan,
        callback: Callable | None = None,
        observer: Observer | None = None,
        switch: Switch | None = None,
    ) -> tuple[Tensor, RunRecord]:
        """Latent and record of a run under a plan.

        Args:
            switch: see ``patching.attach``.
        """
        observer = observer or Observer()
        model = patching.attach(self.guider.model_patcher, plan, observer, switch)
        latent = self._sample(model, self.sampler, callback)
        return latent, observer.the_record

    def resumed(
        self,
        schedule: Schedule,
        policy: Policy,
        memory: PrefixMemory[State],
        before: float = math.inf,
    ) -> tuple[Tensor, RunRecord]:
        """Like ``cached``, but from the latest state in memory; the record begins there.

        The result is the same bit for bit only if ``samplers.keeps_nothing``.

        Args:
            before: only states of steps before this one are used.
        """
        plan = fixed(schedule, policy, for_others=True)
        observer = Observer(memory.longest(self.name, schedule, before))
        keeper = Keeper(memory, self.name, schedule, observer)
        model = patching.attach(self.guider.model_patcher, plan, observer)
        sampler = starting_from(self.sampler, observer.start, keeper.reached)
        return self._sample(model, sampler, None), observer.the_record

    def _sample(self, model, sampler, callback: Callable | None) -> Tensor:
        guider = copy.copy(self.guider)  # shares the conditionings, whose ids tell branches apart
        guider.model_patcher, guider.model_options = model, model.model_options
        # Noise levels are cloned: uni_pc replaces the last one in place. The noise is prepared
        # again because ComfyUI thereby seeds the global generator, from which churn draws.
        comfy.sample.prepare_noise(self.latent, self.seed)
        try:
            latent = guider.sample(
                self.noise, self.latent, sampler, self.sigmas.clone(), denoise_mask=self.mask,
                callback=callback, disable_pbar=True, seed=self.seed,
            )  # fmt: skip
        except BaseException:
            compiler.clean_up()  # the node may continue with another run
            raise
        return latent.to(
            device=comfy.model_management.intermediate_device(),
            dtype=comfy.model_management.intermediate_dtype(),
        )


def samples_of(model, latent: Mapping[str, Any]):
    """Latents of a LATENT in the form that a MODEL samples."""
    return comfy.sample.fix_empty_latent_channels(
        model, latent["samples"],
        latent.get("downscale_ratio_spacial"), latent.get("downscale_ratio_temporal"),
    )  # fmt: skip


def check_finite(latent, record: RunRecord | None = None) -> None:
    """Raise ``ValueError`` unless latents are finite, as no others can be compared.

    Args:
        record: of their run; None for a full run.
    """
    if is_finite(latent):
        return
    if record is not None:
        raise ValueError(f"a run gave values that are not finite: {'; '.join(record.notes)}")
    raise ValueError(NOT_FINITE)


def equal(one, other) -> bool:
    """Whether latents are equal bit for bit."""
    pairs = zip(*(x.unbind() if x.is_nested else (x,) for x in (one, other)), strict=True)
    return all(torch.allclose(a, b, rtol=0, atol=0, equal_nan=True) for a, b in pairs)


def require_cached(planned: Sequence[int], record: RunRecord) -> str:
    """Raise ``ValueError`` if a run did not follow its schedule: it would score as perfect.

    Deviations that the user's own runs will show too are accepted, and returned as a note: a branch
    that begins on a cached step is computed there, and some samplers go back to steps before its
    anchor.
    """
    if record.caching_stopped == OUT_OF_MEMORY:
        raise comfy.model_management.OOM_EXCEPTION(record.caching_stopped)
    off_grid = set(planned).difference(record.cached_steps, record.full_steps)
    if record.caching_stopped or off_grid or (planned and not record.cached_steps):
        raise ValueError(
            "schedules cannot be scored in this workflow, because steps that they cache are "
            f"computed in full: {'; '.join(record.notes)}"
        )
    if not record.refused_steps:
        return ""
    return (
        "some cached steps were computed in full, and will be in your own runs: a prompt or a "
        "control begins there, or the sampler goes back to an earlier step"
    )
