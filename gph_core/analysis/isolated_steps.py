"""The isolated-step experiment: what one cached step does to the end of a run.

One step k of a run under Euler is cached and all others are full. So the error has one source and
can be followed: from the feature to the velocity, to the next state, to the final latent.

Source: Golden Path Hypothesis, appendix *Derivation and measurement of the four factors*.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from ..files import forms
from ..files.jsonl import JsonlFile


class Tried(NamedTuple):
    """A step of a full run, and the same step cached."""

    full: Tensor  # velocity
    cached: Tensor  # velocity
    feature_errors: tuple[float, ...]  # see ``IsolatedStep``


class TriedModel(Protocol):
    """Velocities of a model, after guidance, by step and state."""

    def recorded(self, step: int, state: Tensor) -> Tensor:
        """Velocity in full; later steps are predicted from it."""
        ...

    def tried(self, step: int, state: Tensor) -> Tried:
        """Velocity as ``recorded`` has it, and as it would be if this step were cached."""
        ...

    def full(self, step: int, state: Tensor) -> Tensor:
        """Velocity in full; nothing is predicted from it."""
        ...


@dataclass(frozen=True, slots=True)
class IsolatedStep:
    """L2 norms of what one cached step k changes.

    Args:
        feature_errors: ``‖r_k‖`` by the distance of the full step that the feature is predicted
            from. The first one is of the step before, as in the experiment.
        velocity_error: ``‖δv_k‖``.
        next_state_error: ``‖η_k‖``, ``η_k = Δτ_k δv_k``.
        output_error: ``‖e_N‖`` between the final latents with and without the cached step.
    """

    step: int
    feature_errors: tuple[float, ...]
    velocity_error: float
    next_state_error: float
    output_error: float

    @property
    def feature_error(self) -> float:
        """``‖r_k‖`` in the experiment."""
        return self.feature_errors[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> IsolatedStep:
        """Read what ``to_dict`` wrote and JSON gave back; ``ValueError`` for anything else."""
        found = forms.read(cls, data)
        if not found.feature_errors:
            raise ValueError("there is no error of a feature")
        return found


def measured_steps(num_steps: int) -> range:
    """Steps 1 to N - 2: before step 0 there is no feature, after step N - 1 no transition."""
    return range(1, num_steps - 1)


def isolated_steps(
    model: TriedModel, start: Tensor, sigmas: Sequence[float], wanted: Collection[int]
) -> Iterator[IsolatedStep]:
    """Cache single steps of a run under Euler, one after another.

    The full run comes first. Then the rest of the run is computed from ``z_{k+1} + η_k`` for each
    wanted step k. One latent is held for each of them, in main memory.

    Args:
        start: the state before step 0.
        sigmas: N + 1 noise levels.
        wanted: some of ``measured_steps``.
    """
    num_steps = len(sigmas) - 1
    begun: list[tuple[IsolatedStep, Tensor]] = []
    state = start
    for step in range(num_steps):
        length = sigmas[step + 1] - sigmas[step]
        if step in wanted:
            tried = model.tried(step, state)
            state = state + tried.full * length
            error = tried.cached - tried.full
            norms = (norm(error), norm(error * length))
            found = IsolatedStep(step, tried.feature_errors, *norms, output_error=0.0)
            begun.append((found, (state + error * length).cpu()))
        else:
            state = state + model.recorded(step, state) * length
    for found, changed in begun:
        end = changed.to(state)
        for step in range(found.step + 1, num_steps):
            end = end + model.full(step, end) * (sigmas[step + 1] - sigmas[step])
        yield replace(found, output_error=norm(end - state))


def norm(tensor: Tensor) -> float:
    """L2; ``ValueError`` if it is not finite."""
    found = torch.linalg.vector_norm(exact(tensor)).item()
    if not math.isfinite(found):
        raise ValueError(
            "velocities or latents are not finite, so there is no error to measure; look at an "
            "image of this prompt and seed without Golden Path first; if it is sound, let more "
            "steps be full, or choose another policy"
        )
    return found


def exact(tensor: Tensor) -> Tensor:
    """Tensor in float64 on the CPU: not every accelerator has it, and latents are small."""
    return tensor.detach().to("cpu", torch.float64)


class Measured(NamedTuple):
    """Measurement of one step of one example."""

    example: str  # what identifies it; the same in every session
    prompt: str  # for people; empty if not known
    seed: int
    step: IsolatedStep


LINES = JsonlFile(
    "golden-path-isolated-steps-1",
    "measurement",
    "isolated step",
    lambda measured: {**measured._asdict(), "step": asdict(measured.step)},
    lambda data: forms.read(Measured, data),
)
