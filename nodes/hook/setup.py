"""Guider, sampler and noise levels, and what is known about their runs in advance."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import comfy.model_management
import comfy.samplers
import torch

from ...gph_core.calibration.entry import WEIGHTS
from ...gph_core.calibration.fitted import EXACT, check_policy
from ...gph_core.gates.relative_l1 import relative_change
from ...gph_core.model.family import Family
from ...gph_core.paths.conditions import Choice, Conditions
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.run_plan import RunPlan
from ...gph_core.schedule import Schedule
from . import compatibility, fingerprint, samplers
from .model_call import uncompiled

BAKED_IN = 3.5  # of guidance that a model imitates: the usual scale of FLUX.1-dev


@dataclass(frozen=True)
class SamplingSetup:
    """What all runs of a workflow have in common; costly facts are computed once.

    Args:
        sigmas: N + 1 noise levels.
        latent_shape: ``[B, C, ...]`` of one latent, packed if it has sound.
    """

    guider: Any
    sampler: Any
    sigmas: list[float]
    latent_shape: Sequence[int]

    @property
    def patcher(self) -> Any:
        return self.guider.model_patcher

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    @property
    def family(self) -> Family | None:
        """Family of the model; None if it is not listed."""
        return self._identity[0]

    @property
    def name(self) -> str:
        """Name of the family, or of the model's class."""
        return self._identity[1]

    @cached_property
    def _identity(self) -> tuple[Family | None, str]:
        return compatibility.identify(self.patcher)

    @property
    def conditions(self) -> dict[str, Any]:
        """Conditions of a calibration or of fitted weights, as far as a run can tell.

        Prompts and images, which ``fingerprint.of_sampling`` includes, differ from run to run and
        are left out, as is the batch size. The model's fingerprint takes long to compute.
        """
        return self._conditions

    @cached_property
    def _conditions(self) -> dict[str, Any]:
        kind, numbers = fingerprint.guidance(self.guider)
        return {
            **of_model(self.patcher),
            "sampler": self.sampler_name,
            "sampler options": fingerprint.of_options(self.sampler),
            **of_sigmas(self.sigmas),
            "guider": kind,
            "cfg": numbers.pop("cfg", None),
            "numbers of the guider": numbers,
            "latent": list(self.latent_shape[1:]),
        }

    @property
    def sampler_name(self) -> str:
        """Name of the sampler, or of its class."""
        return samplers.name(self.sampler) or type(self.sampler).__name__

    def known(self, policy: Policy, continues: bool = False) -> Conditions:
        """Conditions of a run under a policy that are known before it starts.

        Args:
            continues: whether no noise is added before the first step.
        """
        config, family = self.patcher.model.model_config.unet_config, self.family
        # The sampling that other nodes set is not in the model yet.
        sampling = self.patcher.get_model_object("model_sampling")
        return Conditions(
            family and family.name, config, self.sigmas, policy, self.holds, self.name,
            guidance=self._guidance,
            halfway=float(sampling.percent_to_sigma(0.5)),
            cfg=fingerprint.guidance(self.guider)[1].get("cfg"),
            continues=continues, sigma_max=float(sampling.sigma_max),
            grids=partial(_grids, sampling, samplers.drops_a_level(self.sampler)),
            time_changes=self._time_changes,
            is_multistep=not samplers.keeps_nothing(self.sampler),
            is_stochastic=samplers.is_stochastic(self.sampler),
            incompatibility=self.incompatibility,
        )  # fmt: skip

    @property
    def _guidance(self) -> float:
        """Scale of guidance; at least the usual one of a model that imitates it."""
        scale = fingerprint.guidance_scale(self.guider)
        config = self.patcher.model.model_config.unet_config
        scales = (scale, BAKED_IN) if config.get("guidance_embed") else (scale,)
        return max(scales, key=lambda one: abs(one - 1))

    @cached_property
    def _time_changes(self) -> Callable[[], tuple[float, ...]] | None:
        """Relative change of what time contributes to the blocks, from step to step.

        Computed once, and only for a method that needs it, because the model has to be loaded.
        """
        return functools.cache(self._changes) if self._time_of else None

    def _changes(self) -> tuple[float, ...]:
        signal = self.time_signal()
        assert signal is not None
        pairs = zip(signal[1:], signal[:-1], strict=True)
        return (0.0, *(relative_change(new[None], old[None]) for new, old in pairs))

    def time_signal(self) -> torch.Tensor | None:
        """``[N, ...]`` contribution of time alone at each step; None if it is not known."""
        if (of_time := self._time_of) is None:
            return None
        # Before sampling begins the weights may be elsewhere, and without LoRAs.
        comfy.model_management.load_models_gpu([self.patcher])
        with torch.no_grad():
            levels = torch.tensor(self.sigmas[:-1], device=self.patcher.load_device)
            return of_time(uncompiled(self.patcher.model.diffusion_model), levels)

    @property
    def _time_of(self) -> Callable[..., torch.Tensor] | None:
        signal = self.family and self.family.signal
        return signal.of_time if signal else None

    def choice_of(self, plan: RunPlan, continues: bool = False) -> Choice:
        """Choice that a plan makes for a run."""
        return plan.choice_of(self.known(plan.policy, continues))

    def holds(self, policy: Policy) -> bool:
        """Whether a policy was fitted for runs of this setup."""
        if not self._can_take_weights:
            return False
        if any(policy.conditions.get(name) != self.conditions[name] for name in EXACT):
            return False
        try:
            check_policy(policy, self.conditions)  # CFG among others
        except ValueError:
            return False
        return True

    @cached_property
    def _can_take_weights(self) -> bool:
        return self.incompatibility(Fitted()) is None

    def incompatibility(self, policy: Policy) -> str | None:
        """Reason why no run can be cached under a policy, with a remedy; None if one can."""
        return compatibility.of_policy(policy, self)

    def refusal(self, choice: Choice) -> str | None:
        """Reason why a run cannot be cached under a choice: the policy's, else the gate's."""
        return self.incompatibility(choice.policy) or compatibility.of_gate(choice, self)

    def check_covers(self, schedule: Schedule) -> None:
        """Raise ``ValueError`` unless a schedule has as many steps as the runs."""
        if schedule.num_steps != self.num_steps:
            raise ValueError(
                f"the schedule covers {schedule.num_steps} steps but the sampler runs "
                f"{self.num_steps}; set the same step count, or choose a speed that fits any step "
                "count"
            )

    def check(self, choice: Choice) -> None:
        """Raise ``ValueError`` unless runs can be cached under a choice."""
        self.check_covers(choice.schedule)
        if reason := self.refusal(choice):
            raise ValueError(reason)
        choice.policy.check(choice.schedule, self.name)


def of_model(patcher) -> dict[str, Any]:
    """Conditions that a MODEL alone determines."""
    _, family = compatibility.identify(patcher)
    return {
        "family": family,
        "model": fingerprint.of_architecture(patcher),
        WEIGHTS: fingerprint.of_model(patcher),
        "precision": str(patcher.model_dtype()),
        "model options": fingerprint.of_model_options(patcher),
    }


def of_sigmas(sigmas: Sequence[float]) -> dict[str, Any]:
    """Condition that noise levels alone determine."""
    return {"sigmas": [round(float(level), 6) for level in sigmas]}


def _grids(sampling, drops_a_level: bool, num_steps: int) -> Iterator[list[float]]:
    """Noise levels of a model from each scheduler, as *KSampler* takes them.

    Some grids do not have ``num_steps`` steps: ddim_uniform may make one more than is asked for, so
    other numbers are tried too.
    """
    for scheduler in comfy.samplers.SCHEDULER_NAMES:
        for asked in (num_steps - 1, num_steps, num_steps + 1):
            levels = comfy.samplers.calculate_sigmas(sampling, scheduler, max(asked, 1)).tolist()
            yield levels
            if drops_a_level:
                yield levels[:-2] + levels[-1:]
