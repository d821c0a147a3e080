"""Replacements for ComfyUI's Euler sampler that do other work with the model's velocities."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from comfy.model_patcher import create_model_options_clone
from comfy.patcher_extension import WrappersMP, add_wrapper
from comfy.samplers import KSAMPLER
from torch import Tensor

from ..hook import samplers
from ..hook.branches import SecondPrompt
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

    def through(self, calc_cond_batch: Callable) -> Velocities:
        """Velocities with a wrapper around the evaluation of the prompts.

        Given with the call, as ComfyUI loads every clone of a model anew.
        """
        options = create_model_options_clone(self._extra_args.get("model_options", {}))
        kind = WrappersMP.CALC_COND_BATCH
        add_wrapper(kind, calc_cond_batch, options, is_model_options=True)
        extra_args = {**self._extra_args, "model_options": options}
        return Velocities(self._model, self._sigmas, extra_args, self._callback)

    @property
    def mask_changes(self) -> bool:
        """Whether what a mask keeps is another part of the latent at each step."""
        return "denoise_mask_function" in self._extra_args.get("model_options", {})

    def kept(self, velocity: Tensor, guided: Tensor) -> Tensor:
        """A prompt's velocity; where a mask keeps the latent, the guided one, which leads there."""
        mask = self._extra_args.get("denoise_mask")
        return velocity if mask is None else mask * velocity + (1 - mask) * guided


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


def velocities_at(sampling: Sampling, step: int, state: Tensor) -> Tensor:
    """Velocities ``[B, 1 or 2, C, ...]`` of a batch at a step, in main memory.

    After guidance and, if the guider has one, of the second prompt.
    """
    taken: list[Tensor] = []
    second = SecondPrompt(state.shape, float(sampling.sigmas[step]))

    def work(velocities: Velocities, start: Tensor) -> Tensor:
        found = [velocities.through(second.calc_cond_batch).at(step, state.to(start))]
        if second.velocity is not None and not velocities.mask_changes:
            found.append(velocities.kept(second.velocity, found[0]))
        taken.append(torch.stack(found, 1).to(CPU))
        return start

    replace(sampling, sampler=in_place_of(sampling.sampler, work)).full()
    return taken[0]
