"""The isolated-step experiment: what one cached step does to the end of a run.

One step k of a run under Euler is cached, all others are full. So the error has one source and can
be followed from the feature to the velocity, the next state and the final latent.

Source: GPH paper, appendix *Derivation and measurement of the four factors*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..files import forms
from ..files.jsonl import JsonlFile


class Tried(NamedTuple):
    """A step of a full run, and the same step cached."""

    full: Tensor  # velocity
    cached: Tensor  # velocity
    feature_errors: tuple[float, ...]  # see ``IsolatedStep``


Velocity = Callable[[int, Tensor], Tensor]  # after guidance, by step and state


@dataclass(frozen=True, slots=True)
class IsolatedStep:
    """L2 norms of what one cached step k changes.

    Args:
        feature_errors: ``‖r_k‖`` by the distance to the full step that the feature is predicted
            from, beginning with the step before, as in the experiment.
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
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> IsolatedStep:
        """Read what ``to_dict`` wrote and JSON gave back; ``ValueError`` for anything else."""
        step = forms.read(cls, data)
        if not step.feature_errors:
            raise ValueError("there is no error of a feature")
        return step


def measured_steps(num_steps: int) -> range:
    """Steps 1 to N - 2: before step 0 there is no feature, after step N - 1 no transition."""
    return range(1, num_steps - 1)


def isolated_steps(
    recorded: Velocity, tried: Callable[[int, Tensor], Tried], full: Velocity, start: Tensor,
    sigmas: Sequence[float], wanted: Collection[int],
) -> Iterator[IsolatedStep]:  # fmt: skip
    """Cache single steps of a run under Euler, one after another.

    The full run comes first. Then, for each wanted step k, the rest of the run is computed from
    ``z_{k+1} + η_k``. Main memory holds one latent for each of these steps.

    Args:
        recorded: velocity in full, from which later steps are predicted.
        tried: the same, and the velocity if this step were cached.
        full: velocity in full, from which nothing is predicted.
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
            both = tried(step, state)
            state = state + both.full * length
            error = both.cached - both.full
            norms = (norm(error), norm(error * length))
            measured = IsolatedStep(step, both.feature_errors, *norms, output_error=0.0)
            begun.append((measured, (state + error * length).cpu()))
        else:
            state = state + recorded(step, state) * length
    for measured, changed in begun:
        end = changed.to(state)
        for step in range(measured.step + 1, num_steps):
            end = end + full(step, end) * (sigmas[step + 1] - sigmas[step])
        yield replace(measured, output_error=norm(end - state))


def norm(tensor: Tensor) -> float:
    """L2; ``ValueError`` if it is not finite."""
    value = torch.linalg.vector_norm(exact(tensor)).item()
    if not math.isfinite(value):
        raise ValueError(
            "velocities or latents are not finite, so there is no error to measure; look at an "
            "image of this prompt and seed without Golden Path first; if it is sound, let more "
            "steps be full, or choose another policy"
        )
    return value


def exact(tensor: Tensor) -> Tensor:
    """Tensor in float64 on the CPU, as not every accelerator has float64."""
    return tensor.detach().to("cpu", torch.float64)


class Measured(NamedTuple):
    """A line of a file: the measurement of one step of one example."""

    example: str  # its identity, the same in every session
    prompt: str  # for people; may be empty
    seed: int
    step: IsolatedStep


LINES = JsonlFile(
    "golden-path-isolated-steps-1",
    "measurement",
    "isolated step",
    lambda measured: {**measured._asdict(), "step": asdict(measured.step)},
    lambda data: forms.read(Measured, data),
)
