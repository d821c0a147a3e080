"""Runs of examples for a calibration: in full, or under an adaptive method."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, cast

import comfy.model_management
import comfy.utils
import torch
from comfy.samplers import KSAMPLER
from torch import Tensor

from ...gph_core.calibration.samples import RunFacts, Sample, Together
from ...gph_core.calibration.table import RECIPES
from ...gph_core.experiments.jobs import Answer
from ...gph_core.run.record import RunRecord
from ...gph_core.run_plan import RunPlan
from ..hook import samplers
from ..sample.progress import Progress
from ..sample.sampler_variants import reporting_states
from ..sample.sampling import check_finite
from ..sample.workload import Workload
from ..schema.wires import is_finite


@dataclass(frozen=True)
class CalibrationRuns:
    """Examples of a calibration, sampled here or by a worker."""

    workload: Workload

    @cached_property
    def facts(self) -> RunFacts:
        """Facts about the runs that methods may need."""
        setup, sampler = self.workload.setup, self.workload.sampler
        return RunFacts(
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

    def job(
        self, number: int, methods: Sequence[str], progress: Progress | None = None
    ) -> Iterator[Answer]:
        """Tensors of one example by method, or the reason why a method has none."""
        samples = {method: RECIPES[method].sample(self.facts) for method in methods}
        last = self._run(number, tuple(samples.values()), progress)
        is_whole = is_finite(last)
        tensors: dict[str, Mapping[str, Tensor] | str] = {}
        for method, sample in samples.items():
            try:
                tensors[method] = own = sample.tensors(last)
            except ValueError as error:
                tensors[method] = str(error)
                continue
            if not is_whole or any(tensor.isnan().any() for tensor in own.values()):
                tensors[method] = (
                    f"{method}: the values of example {number + 1} are not finite; leave this "
                    "example out"
                )
        yield Answer(tensors, self.workload.num_steps)

    def _run(self, number: int, samples: Sequence[Sample], progress: Progress | None) -> Tensor:
        """Final state of an example's full run, which samples watch."""
        ends = deque(maxlen=1)  # states are large
        sampling = self.workload.sampling(number)
        if isinstance(sampling.sampler, KSAMPLER):
            sampling = replace(sampling, sampler=reporting_states(sampling.sampler, ends.append))
        callback = progress and progress.callback(self.workload.num_steps)
        latent = sampling.watched(Together(samples), callback)
        return ends[-1] if ends else latent

    def under(self, number: int, plan: RunPlan, on_step: Callable[[int], None]) -> RunRecord:
        """Record of a run under a plan, see ``ratio.Under``."""
        sampling = self.workload.sampling(number)
        latent, record = sampling.under(plan, lambda step, *_: on_step(step))
        check_finite(latent, record)
        return record


class Bar:
    """Progress bar of a node; the user can cancel at each update."""

    def __init__(self, node_id: str | None) -> None:
        self._bar = comfy.utils.ProgressBar(1000, node_id=node_id)

    def __call__(self, part: float) -> None:
        comfy.model_management.throw_exception_if_processing_interrupted()
        self._bar.update_absolute(round(1000 * part))


def _has_room(num_bytes: int, device: torch.device) -> bool:
    """Whether so many bytes fit on a device, once models have made room."""
    if device.type != "cpu":
        comfy.model_management.free_memory(num_bytes, device)
    return num_bytes <= cast(int, comfy.model_management.get_free_memory(device))
