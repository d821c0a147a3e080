"""Full runs of examples, each of which gives what several methods are fitted to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, cast

import comfy.model_management
import torch
from comfy.samplers import KSAMPLER
from torch import Tensor

from ...gph_core.calibration.samples import Sample, Setup, Together
from ...gph_core.calibration.table import RECIPES
from ..hook import samplers
from ..sample.sampler_variants import reporting_states
from ..sample.workload import Workload
from ..schema.wires import is_finite

# Called with the part that is done, 0 to 1, before each run and each step; cancels by an exception.
OnPart = Callable[[float], None]


@dataclass(frozen=True)
class CalibrationRuns:
    """Examples of a calibration, sampled here or by a worker."""

    workload: Workload

    @cached_property
    def setup(self) -> Setup:
        """Facts about the runs that methods may have to know."""
        setup, sampler = self.workload.setup, self.workload.sampler
        return Setup(
            setup.sigmas,
            setup.name,
            samplers.name(sampler),
            hides_input=setup.family is not None and setup.family.signal is None,
            shows_states=isinstance(sampler, KSAMPLER),
            calls_once=not samplers.makes_several_calls(sampler),
            times=cache(setup.time_signal),
            has_room=_has_room,
        )

    @property
    def conditions(self) -> dict[str, Any]:
        """Conditions that are the same on every worker."""
        return self.workload.setup.conditions | {"examples": self.workload.names()}

    def samples(
        self, number: int, methods: Sequence[str], on_part: OnPart = lambda part: None
    ) -> dict[str, Mapping[str, Tensor] | str]:
        """Tensors of one example by method, or the reason why a method has none.

        Args:
            on_part: told the part of the run.
        """
        samples = {method: RECIPES[method].sample(self.setup) for method in methods}
        last = self._run(number, tuple(samples.values()), on_part)
        is_whole = is_finite(last)
        found: dict[str, Mapping[str, Tensor] | str] = {}
        for method, sample in samples.items():
            try:
                found[method] = tensors = sample.tensors(last)
            except ValueError as error:
                found[method] = str(error)
                continue
            if not is_whole or any(tensor.isnan().any() for tensor in tensors.values()):
                found[method] = (
                    f"{method}: the values of example {number + 1} are not finite; leave this "
                    "example out"
                )
        return found

    def job(self, number: int, methods: Sequence[str]) -> dict[str, Any]:
        """Samples as a worker gives them."""
        return {"result": self.samples(number, methods), "full_steps": self.workload.num_steps}

    def _run(self, number: int, samples: Sequence[Sample], on_part: OnPart) -> Tensor:
        """Final state of an example's full run, which samples watch."""
        on_part(0.0)
        num_steps, ends = self.workload.num_steps, deque(maxlen=1)  # states are large
        sampling = self.workload.sampling(number)
        if isinstance(sampling.sampler, KSAMPLER):
            sampling = replace(sampling, sampler=reporting_states(sampling.sampler, ends.append))
        latent = sampling.watched(
            Together(samples), lambda step, *_: on_part((step + 1) / num_steps)
        )
        return ends[-1] if ends else latent


def _has_room(num_bytes: int, device: torch.device) -> bool:
    """Whether so many bytes fit on a device, once models have left it."""
    if device.type != "cpu":
        comfy.model_management.free_memory(num_bytes, device)
    return num_bytes <= cast(int, comfy.model_management.get_free_memory(device))
