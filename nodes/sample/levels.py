"""Noise levels of a scheduler for any number of steps."""

from __future__ import annotations

import comfy.model_management
import comfy.sample
import comfy.samplers
import comfy.utils
from torch import Tensor

from ...gph_core.run.levels import Levels
from .sampling import CPU


def scheduled(patcher, sampler_name: str, scheduler: str, denoise: float) -> Levels:
    """Noise levels that *KSampler* takes."""

    def levels(num_steps: int) -> Tensor:
        return comfy.samplers.KSampler(
            patcher, num_steps, CPU, sampler_name, scheduler, denoise, patcher.model_options
        ).sigmas

    return levels
