"""Remembered runs, whose velocities are computed again from other states."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import comfy.nested_tensor
import comfy.utils
import torch
from torch import Tensor

from ...gph_core.fitting.steps import Steps
from ...gph_core.paths.conditions import Choice
from ...gph_core.run_plan import settled
from ..hook import fingerprint, patching
from ..sample.euler import velocities_at
from ..sample.sampler_variants import CPU, reporting_evaluated
from ..sample.sampling import Sampling, require_cached
from .remembered import Example

# Of a step: the same evaluation in another batch is rounded otherwise, but no more than this.
_TOLERANCE = 0.02
OTHER_RESULT = (
    "the model gives another result when it is asked again, so something in this workflow keeps a "
    "memory of its own"
)


@dataclass(frozen=True)
class Replay:
    """Images of remembered runs, numbered in order.

    Args:
        guider: of the run at hand; its model is taken as it is, without our cache.
        on_evaluation: called before each evaluation of a group of images, with their number.
    """

    examples: Sequence[Example]
    guider: Any
    sampler: Any
    sigmas: Sequence[float]
    steps: Steps
    on_evaluation: Callable[[int], None]

    def __post_init__(self) -> None:
        guider = copy.copy(self.guider)
        guider.model_patcher = patching.uncached(guider.model_patcher)  # the same for all
        object.__setattr__(self, "guider", guider)

    @cached_property
    def _places(self) -> list[tuple[Example, int]]:
        """Example of each image, and its place in the example's batch."""
        return [(example, n) for example in self.examples for n in range(len(example))]

    def state(self, image: int, step: int) -> Tensor:
        """State ``[1, ...]`` of a full run before a step, or at its end."""
        example, place = self._places[image]
        return example.state(step)[place : place + 1]

    def velocities(self, step: int, states: Sequence[Tensor]) -> list[Tensor]:
        """Velocities ``[1 or 2, ...]`` of the first images at a step, from their states.

        Guided ones and, if the guider has one, those of the second prompt.

        Raises ``ValueError`` if the first step is not that of the full run.
        """
        found: list[Tensor] = []
        for sampling, images in self._groups(len(states)):
            self.on_evaluation(len(images))
            batch = torch.cat([states[image] for image in images])
            found += velocities_at(sampling, step, batch)
        if step == 0:
            self._check(found)
        return found

    def ends(self, choice: Choice, count: int) -> list[Tensor]:
        """Ends ``[1, ...]`` of runs of the first images under a choice.

        ``ValueError`` says why the choice has no effect.
        """
        found: list[Tensor] = []
        for sampling, images in self._groups(count):
            last: list[Tensor] = []

            def keep(state: Tensor, last=last) -> None:
                last[:] = [state]

            for _ in choice.schedule.full_steps:
                self.on_evaluation(len(images))
            told = replace(sampling, sampler=reporting_evaluated(self.sampler, keep))
            _, record = told.under(settled(choice))
            require_cached(choice.schedule.cached_steps, record)
            found += last[0].to(CPU, copy=True).split(1)
        return found

    def _groups(self, count: int) -> Iterator[tuple[Sampling, range]]:
        """Samplings of the first images, and their numbers."""
        begin, (guider, sampler, sigmas) = 0, (self.guider, self.sampler, self.sigmas)
        for example in self.examples:
            size = min(len(example), count - begin)
            if size <= 0:
                return
            sampling = sampling_of(example, size, guider, sampler, sigmas)
            yield sampling, range(begin, begin + size)
            begin += size

    def _check(self, velocities: Sequence[Tensor]) -> None:
        ((_, length),) = self.steps.moves[0]
        for image, (guided, *_) in enumerate(velocities):
            taken = (self.state(image, 1) - self.state(image, 0))[0].double()
            if not (length * guided.double() - taken).norm() <= _TOLERANCE * taken.norm():
                raise ValueError(OTHER_RESULT)


def sampling_of(
    example: Example, count: int, guider: Any, sampler: Any, sigmas: Sequence[float]
) -> Sampling:
    """Sampling of the first images of an example: ComfyUI cuts conditionings to the batch.

    Errors as of ``Sampling``.
    """
    guider = copy.copy(guider)
    guider.original_conds = dict(example.conds)
    noise, latent, mask = (
        _unpacked(part, count, example.shapes)
        for part in (example.noise, example.latent, example.mask)
    )
    guider.model_patcher = patching.uncached(guider.model_patcher)
    levels = torch.tensor(sigmas)
    return Sampling(guider, noise, latent, sampler, levels, example.seed, mask=mask)


def changes_its_scale(sampling: Sampling) -> bool:
    """Whether a guider has other numbers after an evaluation at the last noise level.

    ComfyUI's own guiders are not asked: they keep theirs.
    """
    guider = sampling.guider
    # ComfyUI names the modules of its own nodes by their files.
    module = type(guider).__module__.replace("\\", "/")
    if module.startswith("comfy.") or module.split("/")[-2:-1] == ["comfy_extras"]:
        return False
    after: list[Any] = []

    class Watched(type(guider)):  # type: ignore[misc] - of any class
        def __call__(self, *args, **kwargs):
            result = super().__call__(*args, **kwargs)
            after.append(fingerprint.guidance(self)[1])
            return result

    watched = copy.copy(guider)
    watched.__class__ = Watched
    step = len(sampling.sigmas) - 2
    start = sampling.noise.unbind() if sampling.noise.is_nested else [sampling.noise]
    state = comfy.utils.pack_latents(start)[0] if len(start) > 1 else start[0]
    velocities_at(replace(sampling, guider=watched), step, float(sampling.sigmas[step]) * state)
    return after[-1] != fingerprint.guidance(guider)[1]


def _unpacked(part: Tensor | None, count: int, shapes: Sequence[Sequence[int]]) -> Any:
    if part is None:
        return None
    some = part[:count]
    if len(shapes) < 2:
        return some
    return comfy.nested_tensor.NestedTensor(comfy.utils.unpack_latents(some, shapes))
