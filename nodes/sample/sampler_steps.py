"""Steps of ComfyUI's samplers, in the form to which weights are fitted."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

from comfy.samplers import KSAMPLER
from torch import Tensor

from ...gph_core.fitting.steps import Steps, euler, probe
from ..hook import samplers
from ..hook.setup import SamplingSetup


def steps_of(setup: SamplingSetup) -> Steps:
    """Steps of a sampler on its noise levels; the model is not evaluated.

    Raises ``ValueError`` that says why weights cannot be fitted for it.
    """
    sampler, sigmas = setup.sampler, setup.sigmas
    if isinstance(sampler, KSAMPLER) and samplers.keeps_nothing(sampler):
        return euler(sigmas)
    try:
        return probe(_function(sampler, setup.patcher), sigmas)
    except ValueError as error:
        raise ValueError(
            f"weights cannot be fitted for the sampler {setup.sampler_name}: {error}; choose one "
            "that evaluates the model once per step and adds no noise, such as euler, dpmpp_2m, "
            "res_multistep or uni_pc, or choose another policy"
        ) from error


def _function(sampler, patcher):
    """A sampler's function in the form that ``probe`` takes."""
    if not isinstance(sampler, KSAMPLER):
        raise ValueError("it is not built like ComfyUI's samplers, so its steps are not known")
    # What samplers read from a model.
    inner = SimpleNamespace(
        model_patcher=patcher,
        inner_model=SimpleNamespace(model_sampling=patcher.get_model_object("model_sampling")),
    )

    def run(model, start: Tensor, sigmas: Tensor, seed: int) -> Tensor:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they appear again when it really samples
                return sampler.sampler_function(
                    _Model(model, inner), start, sigmas, extra_args={"seed": seed},
                    callback=lambda _: None, disable=True, **sampler.extra_options,
                )  # fmt: skip
        except Exception as error:  # of any kind, as the function may be another extension's
            raise ValueError(
                f"its steps are not known, and trying it failed ({error!r})"
            ) from error

    return run


class _Model:
    """Stand-in for a ComfyUI model."""

    def __init__(self, denoised, inner_model: Any) -> None:
        self._denoised, self.inner_model = denoised, inner_model

    def __call__(self, *args, **kwargs) -> Tensor:
        return self._denoised(*args, **kwargs)
