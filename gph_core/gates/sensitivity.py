"""SenCache: the largest expected change of the velocity for the way of latent and time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor

from .base import Gate, GateInput, Look

# Limits of the GPH paper's code by family, see ``Setting.of_family``, at its cache ratios 0.58,
# 0.74 and 0.82: threshold of the first steps, their share of the run, cached steps in a row of 50.
LIMITS = {
    "HunyuanVideo": ((0.2, 0.2, 10), (0.2, 0.2, 10), (1.2, 0.2, 10)),
    "": ((0.005, 0.2, 10), (0.005, 0.2, 39), (0.005, 0.12, 43)),
}


@dataclass(frozen=True)
class Sensitivities:
    """Response of the velocity to the latent and to time, at some noise levels.

    Args:
        sigmas: the noise levels, 0 to 1, in any order.
        by_latent: change of the velocity per change of the latent, Jx.
        by_time: root mean square change of the velocity per noise level: Jt / √numel.
    """

    sigmas: tuple[float, ...]
    by_latent: tuple[float, ...]
    by_time: tuple[float, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.sigmas), len(self.by_latent), len(self.by_time)}
        if len(lengths) > 1 or not self.sigmas:
            raise ValueError(
                f"sensitivities need two values for each noise level, got {len(self.by_latent)} "
                f"and {len(self.by_time)} for {len(self.sigmas)}"
            )
        for value in (*self.sigmas, *self.by_latent, *self.by_time):
            if not 0 <= value < math.inf:
                raise ValueError(f"noise levels and sensitivities are from 0 on, got {value:g}")

    def at(self, sigma: float) -> tuple[float, float]:
        """Sensitivities by latent and by time at the nearest noise level, the first of two."""
        near = min(range(len(self.sigmas)), key=lambda n: abs(self.sigmas[n] - sigma))
        return self.by_latent[near], self.by_time[near]


class LastFull(NamedTuple):
    """The state of the gate: the input at the newest full step, and the cached steps since."""

    gate_input: GateInput
    num_cached: int


@dataclass(frozen=True)
class SenCache(Gate):
    """``Jx RMS(z - z_a) + jt |σ - σ_a|``, a predicted RMS change of the velocity.

    z_a, σ_a and both sensitivities are of the newest full step; nothing adds up.

    Args:
        table: calibrated for the model.
        max_cached: most cached steps in a row; None: any number.
        start_threshold: threshold before step ``start_steps``. A value is 0 below it and inf from
            it on, so there ``threshold`` has no say unless it is 0.
        start_steps: 0.2 N in most published runs; 0: none.

    Source: SenCache, arXiv 2602.24208, with both terms divided by √numel instead of the threshold
    multiplied, which is the same rule.
    """

    threshold: float
    table: Sensitivities
    max_cached: int | None = 10
    start_threshold: float = 0.005
    start_steps: int = 0

    look: ClassVar[Look] = Look.LATENT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_cached is not None and self.max_cached < 0:
            raise ValueError(f"at least 0 steps in a row are cached, got {self.max_cached}")
        if not self.start_threshold >= 0:
            raise ValueError(
                f"the threshold of the start is a number from 0 on, got {self.start_threshold!r}"
            )

    def signal(self, gate_input: GateInput, forced: bool) -> GateInput:
        return gate_input

    def value(self, state: LastFull | None, signal: GateInput) -> float:
        if state is None or state.num_cached == self.max_cached:
            return math.inf
        anchor = state.gate_input
        assert signal.latent is not None
        assert anchor.latent is not None
        if signal.latent.shape != anchor.latent.shape:
            return math.inf
        by_latent, by_time = self.table.at(anchor.sigma)
        moved = _rms(signal.latent.float() - anchor.latent.float()).mean().item()
        value = by_latent * moved + by_time * abs(signal.sigma - anchor.sigma)
        if signal.step < self.start_steps:
            return 0.0 if value < self.start_threshold else math.inf
        return value

    def after(
        self, state: LastFull | None, signal: GateInput, value: float, is_cached: bool
    ) -> LastFull:
        if is_cached:
            assert state is not None
            return state._replace(num_cached=state.num_cached + 1)
        return LastFull(signal, 0)


def _rms(x: Tensor) -> Tensor:
    """``[B]`` root of the mean square of each sample."""
    return x.flatten(1).square().mean(1).sqrt()
