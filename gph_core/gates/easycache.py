"""EasyCache: how strongly the output follows the input, from the latest two full steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor

from .base import Gate, GateInput, Look
from .relative_l1 import MIN_SIZE, mean_distances, mean_sizes

# Share of the run that is full at first, by family, see ``Setting.of_family``: 10 and 5 of 50 steps
# in its own code.
FIRST_FULL = {"Wan": 0.2, "": 0.1}


class Response(NamedTuple):
    """The state of the gate; between a full step's decision and its output the rate is outdated."""

    total: float  # of the expected changes since the newest full step
    before: Tensor  # latent of the step before, full or cached
    full: tuple[Tensor, Tensor] | None = None  # latent and output of the newest full step
    rate: Tensor | None = None  # [B] change of the output per change of the latent


@dataclass(frozen=True)
class EasyCache(Gate):
    """The sum of ``κ mean|x - x_before| / mean|y_a|``, the expected relative change of the output.

    x is the latent, y the velocity, a the newest full step and b the one before it:
    ``κ = mean|y_a - y_b| / mean|x_a - x_b|``. The first two full steps come before any cached one.

    Source: EasyCache of H-EmbodVis. ComfyUI's own node of that name refreshes x_before at full
    steps only and subsamples the tensors, so its thresholds are others.
    """

    threshold: float

    look: ClassVar[Look] = Look.LATENT
    reads_outputs: ClassVar[bool] = True

    def signal(self, gate_input: GateInput, forced: bool) -> Tensor:
        assert gate_input.latent is not None
        return gate_input.latent

    def value(self, state: Response | None, signal: Tensor) -> float:
        if state is None or state.full is None or state.rate is None:
            return math.inf
        if signal.shape != state.before.shape:
            return math.inf
        size = mean_sizes(state.full[1]).clamp_min(MIN_SIZE)
        expected = state.rate * mean_distances(signal, state.before) / size
        return state.total + expected.mean().item()

    def after(
        self, state: Response | None, signal: Tensor, value: float, is_cached: bool
    ) -> Response:
        total = value if is_cached else 0.0
        if state is None:
            return Response(total, signal)
        return state._replace(total=total, before=signal)

    def computed(self, state: Response, gate_input: GateInput, output: Tensor) -> Response:
        assert gate_input.latent is not None
        rate = None
        if state.full is not None and state.full[0].shape == gate_input.latent.shape:
            latent, before = state.full
            moved = mean_distances(gate_input.latent, latent).clamp_min(MIN_SIZE)
            rate = mean_distances(output, before) / moved
        return state._replace(full=(gate_input.latent, output), rate=rate)
