"""Samples of full runs: what the values of a method are fitted to, one sample an example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from ..gates.base import GateInput

Value = TypeVar("Value")
Tensors = Mapping[str, Tensor]  # of one sample


class RunFacts(NamedTuple):
    """RunFacts about the runs to calibrate on that a method may have to know.

    Args:
        levels: N + 1 noise levels.
        model, sampler: their names.
        hides_input: what the first block's attention receives cannot be read.
        shows_states: the states of the sampler can be read.
        calls_once: the sampler evaluates the model once a step.
        times: gives the signal of each step, ``[N, ...]``, where it depends on time alone.
        has_room: whether so many bytes fit on a device, once others have left it.
    """

    levels: Sequence[float]
    model: str
    sampler: str
    hides_input: bool
    shows_states: bool
    calls_once: bool
    times: Callable[[], Tensor | None]
    has_room: Callable[[int, torch.device], bool]

    @property
    def num_steps(self) -> int:
        return len(self.levels) - 1


@dataclass(frozen=True)
class Observed:
    """Observation of one branch at one full step.

    Args:
        branch: 0 for the positive prompt, whose signals decide unless ComfyUI calls the model with
            the negative one first, as it may where both at once do not fit.
        gate_input: what a gate would see; without tokens where the model's blocks are not known.
        velocity: of this branch, before guidance.
        residual: of the blocks, ``[B, T, C]`` of the image tokens; None where ``gate_input`` has
            no tokens.
        tokens: to which the blocks added it, in its shape.
        again: the velocity of the same branch and prompt at another latent and noise level.
    """

    branch: int
    gate_input: GateInput
    velocity: Tensor
    residual: Tensor | None
    tokens: Tensor | None
    again: Callable[[Tensor, float], Tensor]


class Sample(ABC):
    """Collector of what one method needs; it gets each step of each branch once, in order."""

    def branch(self, observed: Observed) -> None:  # noqa: B027 - most need one of the two alone
        """Take a branch of a step."""

    def step(self, latent: Tensor, velocity: Tensor) -> None:  # noqa: B027
        """Take a guided velocity, at each evaluation of the model."""

    @abstractmethod
    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        """Tensors of the whole run; ``ValueError`` if the method cannot be calibrated on it.

        Args:
            last: the state after the last step.
        """


class Together:
    """Watcher that passes what it sees on to several samples.

    Like a gate, it takes only the first evaluation of a step.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples
        self._reported: set[tuple[int, int]] = set()

    def branch(self, observed: Observed) -> None:
        step = observed.gate_input.step
        if (observed.branch, step) in self._reported:
            return
        self._reported.add((observed.branch, step))
        for sample in self._samples:
            sample.branch(observed)

    def step(self, step: int, latent: Tensor, velocity: Tensor) -> None:
        for sample in self._samples:
            sample.step(latent, velocity)


class Measured(NamedTuple):
    """Values that a method needs for its rule, and how well they fit."""

    values: dict[str, Any]  # tensors, and plain data
    report: dict[str, Any]  # plain data


def whole(
    by_branch: Mapping[int, list[Value]], count: int, method: str, what: str
) -> list[list[Value]]:  # fmt: skip
    """Branches with so many values: those that were there from the first to the last step.

    ``ValueError`` if there is none; it says ``what`` the ``method`` did not see.
    """
    found = [values for values in by_branch.values() if len(values) == count]
    if not found:
        raise ValueError(
            f"{method} cannot be calibrated in this workflow: {what} could not be observed at "
            "every step; remove what replaces the model's blocks or changes the prompts during "
            "sampling, or calibrate another method"
        )
    return found
