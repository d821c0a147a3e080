"""Runs of *Golden Path Compare Run*: settles their settings and samples them one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import comfy.model_management
import comfy.sample
import comfy.samplers
import comfy.utils
from torch import Tensor

from ...gph_core.paths.conditions import Choice
from ...gph_core.paths.spacings import spacing
from ...gph_core.policies.base import Policy, Site
from ...gph_core.policies.damped_velocity import DampedVelocity
from ...gph_core.policies.extrapolation import Reuse
from ...gph_core.policies.fitted import Fitted
from ...gph_core.reports.compare_report import CACHED, FEWER, FITTED_PATH, FULL, UNIFORM, Run
from ...gph_core.run.levels import Levels
from ...gph_core.run_plan import RunPlan
from ...gph_core.schedule import Schedule
from ..sample.progress import Progress
from ..sample.sampling import CPU, Sampling, check_finite, samples_of


@dataclass(frozen=True)
class CompareSession:
    """Comparison of four runs from the same noise, or of three.

    Args:
        sampling: what they share, with the noise levels of all but the last.
        choice: of the cached run.
        uniform: schedule of the uniform run, with as many full steps.
        policy: of the uniform run; that of ``choice`` may hold for its own schedule only.
        fewer: noise levels of the run with as many plain steps.
        no_uniform: why there is no uniform run; empty if there is one.
    """

    sampling: Sampling
    choice: Choice
    uniform: Schedule
    policy: Policy
    fewer: Tensor
    no_uniform: str = ""

    @property
    def is_uniform(self) -> bool:
        """Whether the cached run is itself evenly spaced, so that one run stands for both."""
        return (self.uniform, self.policy) == (self.choice.schedule, self.choice.policy)

    @property
    def num_steps(self) -> int:
        """Number of steps of all runs together."""
        long_runs = 2 if self.is_uniform or self.no_uniform else 3
        return long_runs * self.uniform.num_steps + len(self.fewer) - 1

    def run(self, progress: Progress) -> list[Run]:
        """Warm up, then sample the full, cached and uniform runs and the one with fewer steps.

        Raises ``ValueError`` before any of them if the run cannot be cached.
        """
        self.sampling.warm_up(self.choice.schedule, self.choice.policy)
        num_steps = self.uniform.num_steps
        full = Schedule.all_full(num_steps)
        name = FITTED_PATH if isinstance(self.choice.policy, Fitted) else CACHED
        fewer = Schedule.all_full(len(self.fewer) - 1)
        runs = [
            self._full(full, progress),
            self._cached(
                name, self.choice.schedule, self.choice.policy, progress, self.choice.note
            ),
        ]
        if self.is_uniform:
            runs.append(replace(runs[-1], name=UNIFORM))
        elif not self.no_uniform:
            runs.append(self._cached(UNIFORM, self.uniform, self.policy, progress))
        plain = partial(self.sampling.plain, self.fewer)
        return [*runs, _timed(FEWER, fewer, plain, progress)]

    def _full(self, schedule: Schedule, progress: Progress) -> Run:
        run = _timed(FULL, schedule, self.sampling.full, progress)
        check_finite(run.latent)
        return run

    def _cached(
        self, name: str, schedule: Schedule, policy: Policy, progress: Progress, note: str = ""
    ) -> Run:
        records = []

        def sample(callback):
            latent, record = self.sampling.cached(schedule, policy, callback)
            records.append(record)
            return latent

        run = _timed(name, schedule, sample, progress)
        check_finite(run.latent, records[0])
        notes = dict.fromkeys((*note.splitlines(), *records[0].notes))
        return replace(run, record=replace(records[0], notes=tuple(notes)))


def _timed(name: str, schedule: Schedule, sample: Callable, progress: Progress) -> Run:
    callback = progress.callback(schedule.num_steps)
    began = time.perf_counter()
    latent = sample(callback).to(CPU)  # which waits for the device
    return Run(name, schedule, latent, time.perf_counter() - began)


def sampling_of(
    guider, latent: Mapping[str, Any], sampler, sigmas: Tensor, seed: int
) -> Sampling:  # fmt: skip
    """Sampling of a LATENT with noise from a seed, as *KSampler* does it."""
    samples = samples_of(guider.model_patcher, latent)
    noise = comfy.sample.prepare_noise(samples, seed, latent.get("batch_index"))
    mask = latent.get("noise_mask")
    return Sampling(guider, noise, samples, sampler, sigmas, seed, mask=mask)


def prepare(sampling: Sampling, plan: RunPlan, levels: Levels) -> CompareSession:
    """Settle all settings; ``ValueError`` says what is wrong, before anything is sampled."""
    num_steps = len(sampling.sigmas) - 1
    if num_steps < 1:
        raise ValueError("there is no step to sample; set steps and denoise above 0")
    setup = sampling.setup
    choice = setup.choice_of(plan)
    schedule = choice.schedule
    setup.check_covers(schedule)
    if not schedule.num_cached:
        raise ValueError(
            f"all {num_steps} steps would be full, so there is nothing to compare; use more "
            "steps, or a schedule with cached steps"
        )
    choice.policy.check(schedule, setup.name)
    policy = choice.policy if isinstance(choice.policy, DampedVelocity) else plan.policy
    if isinstance(choice.policy, Fitted):  # no other schedule has its weights
        policy = Reuse(Site.STACK if setup.family else Site.GUIDED)
    num_full, needed = schedule.num_full, policy.min_anchors
    # With no more full steps than the policy needs, only one schedule is possible.
    uniform = spacing(num_steps, num_full, needed) if num_full > needed else schedule
    try:
        policy.check(uniform, setup.name)
        no_uniform = ""
    except ValueError as error:
        no_uniform = str(error)
    return CompareSession(sampling, choice, uniform, policy, levels(num_full), no_uniform)


def scheduled(patcher, sampler_name: str, scheduler: str, denoise: float) -> Levels:
    """Noise levels that *KSampler* takes, by the number of steps."""

    def levels(num_steps: int) -> Tensor:
        return comfy.samplers.KSampler(
            patcher, num_steps, CPU, sampler_name, scheduler, denoise, patcher.model_options
        ).sigmas

    return levels
