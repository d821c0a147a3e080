"""Samplers that end early or in a given state, report states, or begin at a later state."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from comfy.samplers import KSAMPLER
from torch import Tensor

from ...gph_core.search.prefix import State

CPU = torch.device("cpu")


def ending_after(sampler, num_steps: int):
    """Sampler that ends after ``num_steps`` steps; the run's wrappers see all noise levels."""
    if not isinstance(sampler, KSAMPLER):
        return sampler  # another extension's own kind, which runs to the end

    @functools.wraps(sampler.sampler_function)
    def function(model, x, sigmas, *args, **kwargs):
        return sampler.sampler_function(model, x, sigmas[: num_steps + 1], *args, **kwargs)

    return KSAMPLER(function, sampler.extra_options, sampler.inpaint_options)


def reporting_states(sampler: KSAMPLER, on_state: Callable[[Tensor], None]) -> KSAMPLER:
    """Sampler that reports the states before each step and after the last one, in order."""

    @functools.wraps(sampler.sampler_function)
    def function(model, x, sigmas, extra_args=None, callback=None, disable=None, **options):
        def stepped(info: dict) -> None:
            on_state(info["x"])
            if callback is not None:
                callback(info)

        result = sampler.sampler_function(
            model, x, sigmas, extra_args=extra_args, callback=stepped, disable=disable, **options
        )
        on_state(result)
        return result

    return KSAMPLER(function, sampler.extra_options, sampler.inpaint_options)


def reporting_evaluated(sampler: KSAMPLER, on_state: Callable[[Tensor], None]) -> KSAMPLER:
    """Sampler that reports each state at which it evaluates the model, then the final state."""

    @functools.wraps(sampler.sampler_function)
    def function(model, x, sigmas, *args, **kwargs):
        result = sampler.sampler_function(_Reporting(model, on_state), x, sigmas, *args, **kwargs)
        on_state(result)
        return result

    reporting = copy.copy(sampler)  # of another class, perhaps
    reporting.sampler_function = function
    return reporting


class _Reporting:
    """Model that reports the states at which a sampler evaluates it."""

    def __init__(self, model: Any, on_state: Callable[[Tensor], None]) -> None:
        self._model, self._on_state = model, on_state

    def __call__(self, x: Tensor, *args, **kwargs) -> Tensor:
        self._on_state(x)
        return self._model(x, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def ending_at(sampler: KSAMPLER, end: Tensor, level: float) -> KSAMPLER:
    """Sampler that returns ``end`` immediately, as a state at noise level ``level``."""

    @functools.wraps(sampler.sampler_function)
    def function(model, x, sigmas, *args, **kwargs):
        sigmas[-1] = level  # ComfyUI scales the state by it
        return end.to(x)

    return KSAMPLER(function, sampler.extra_options, sampler.inpaint_options)


def starting_from(
    sampler: KSAMPLER, start: State | None, reached: Callable[[int, Tensor], None]
) -> KSAMPLER:
    """Sampler that begins at a state; ``reached`` gets each step and the state before it."""
    first = start.step if start else 0

    @functools.wraps(sampler.sampler_function)
    def function(model, x, sigmas, extra_args=None, callback=None, disable=None, **options):
        def on_state(info: dict) -> None:
            step = first + info["i"]
            reached(step, info["x"])
            if callback is not None:
                callback({**info, "i": step})

        if start:
            x = start.latent.to(x)
        return sampler.sampler_function(
            model, x, sigmas[first:], extra_args=extra_args, callback=on_state, disable=disable,
            **options,
        )  # fmt: skip

    return KSAMPLER(function, sampler.extra_options, sampler.inpaint_options)
