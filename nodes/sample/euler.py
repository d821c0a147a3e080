"""Replacements for ComfyUI's Euler sampler that do other work with the model's velocities."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from comfy.samplers import KSAMPLER
from torch import Tensor

from ..hook import samplers
from .sampling import CPU, Sampling


def refuse_others(analysis: str, sampler) -> None:
    """Raise ``ValueError`` unless a sampler is plain Euler, as the formulas of analyses require."""
    if not (isinstance(sampler, KSAMPLER) and samplers.keeps_nothing(sampler)):
        name = samplers.name(sampler) or type(sampler).__name__
        raise ValueError(
            f"{analysis} covers samplers of one Euler step without noise, which are euler and ddim "
            f"(both without churn), not {name}: its next state depends on more than the state and "
            "the velocity; choose euler"
        )


class Velocities:
    """Velocities that the sampler uses, after guidance, by step and state.

    Each evaluation counts as a step of progress, and can be cancelled.

    Args:
        model: as a sampler function gets it.
        callback: the sampler's.
    """

    def __init__(self, model, sigmas: Tensor, extra_args: dict[str, Any], callback: Callable):
        self._model, self._sigmas, self._extra_args = model, sigmas, extra_args
        self._callback = callback
        self._evaluations = 0

    def at(self, step: int, state: Tensor) -> Tensor:
        """Velocity ``v = (z - denoised) / σ``."""
        sigma = self._sigmas[step]
        denoised = self._model(state, sigma * state.new_ones([len(state)]), **self._extra_args)
        self._callback({"i": self._evaluations, "x": state, "denoised": denoised, "sigma": sigma})
        self._evaluations += 1
        return (state - denoised) / sigma


def in_place_of(sampler: KSAMPLER, work: Callable[[Velocities, Tensor], Tensor]) -> KSAMPLER:
    """Sampler that does some work and returns its result as the final state.

    Args:
        work: gets the velocities and the state before step 0.
    """

    @functools.wraps(sampler.sampler_function)
    def function(model, x, sigmas, extra_args=None, callback=None, disable=None, **options):
        on_step = callback or (lambda _: None)
        return work(Velocities(model, sigmas, extra_args or {}, on_step), x)

    return KSAMPLER(function, sampler.extra_options, sampler.inpaint_options)


def velocity_at(sampling: Sampling, step: int, state: Tensor) -> Tensor:
    """Guided velocity of a batch at a step, in main memory."""
    taken: list[Tensor] = []

    def work(velocities: Velocities, start: Tensor) -> Tensor:
        taken.append(velocities.at(step, state.to(start)).to(CPU))
        return start

    replace(sampling, sampler=in_place_of(sampling.sampler, work)).full()
    return taken[0]
