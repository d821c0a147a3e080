"""Gates that add up the change from step to step and compute once the sum reaches the threshold.

A change is measured from the step before, full or cached. The compared sum includes this step's
change; a full step, forced or not, sets it to zero.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from ..schedule import Schedule
from .base import Gate, GateInput, Look, check_threshold
from .coefficients import Polynomial
from .relative_l1 import relative_change, relative_changes
from .spectral import wiener_filtered

# By family, the cache ratio beyond which DiCache computes a first tenth of the run in full, else a
# fifth: in the GPH paper's code a tenth at 0.82, for Wan at 0.74 too.
DICACHE_TENTH = {"Wan": 0.66, "": 0.78}


class Drift(NamedTuple):
    """The state of an accumulating gate."""

    total: float  # of the changes since the last full step
    signal: Any  # of the step before


class Accumulating(Gate):
    """A gate with a change between the signals of two steps."""

    @abstractmethod
    def change(self, signal: Any, before: Any) -> float:
        """Change from the step before to this one."""

    def value(self, state: Drift | None, signal: Any) -> float:
        return math.inf if state is None else state.total + self.change(signal, state.signal)

    def after(self, state: Drift | None, signal: Any, value: float, is_cached: bool) -> Drift:
        return Drift(value if is_cached else 0.0, signal)


@dataclass(frozen=True)
class TeaCache(Accumulating):
    """A polynomial of the relative change of what the first block's attention receives.

    On Wan this depends on time alone, so ``accumulate`` makes the schedule before the run.

    Args:
        polynomial: fitted for one model and one kind of signal. A change outside its range counts
            as the nearest one in it, and a negative result as zero.
        exact: use the polynomial as it is, so that a sum may be negative: below any threshold.

    Source: TeaCache, arXiv 2411.19108, whose code uses it as it is.
    """

    threshold: float
    polynomial: Polynomial
    exact: bool = False

    look: ClassVar[Look] = Look.MODULATED

    def signal(self, gate_input: GateInput, forced: bool) -> Tensor:
        assert gate_input.modulated is not None
        return gate_input.modulated

    def change(self, signal: Tensor, before: Tensor) -> float:
        x = relative_change(signal, before)
        value = self.polynomial if self.exact else self.polynomial.guarded
        return value(x) if math.isfinite(x) else x


@dataclass(frozen=True)
class SeaCache(Accumulating):
    """The relative change of the same tokens after a filter that keeps signal and removes noise.

    Args:
        raw_if_forced: tokens of forced steps are not filtered. So does the published code for FLUX,
            where step 1 is full at any usual threshold; on other models it filters every step.

    Source: SeaCache, arXiv 2602.18993.
    """

    threshold: float
    raw_if_forced: bool = False

    look: ClassVar[Look] = Look.MODULATED
    needs_grid: ClassVar[bool] = True

    def signal(self, gate_input: GateInput, forced: bool) -> Tensor:
        assert gate_input.modulated is not None
        if forced and self.raw_if_forced:
            return gate_input.modulated
        return wiener_filtered(gate_input.modulated, gate_input.grid, gate_input.sigma)

    def change(self, signal: Tensor, before: Tensor) -> float:
        return relative_change(signal, before)


@dataclass(frozen=True)
class DiCache(Accumulating):
    """The relative change of the first block's output; that block therefore always runs.

    Source: DiCache, arXiv 2508.17356.
    """

    threshold: float

    look: ClassVar[Look] = Look.FIRST_BLOCK

    def signal(self, gate_input: GateInput, forced: bool) -> Tensor:
        assert gate_input.probe is not None
        return gate_input.probe

    def change(self, signal: Tensor, before: Tensor) -> float:
        return relative_change(signal, before)


@dataclass(frozen=True)
class DeltaMinus(Accumulating):
    """Difference of the relative changes before and after the first block.

    Source: DiCache, arXiv 2508.17356, the other choice of its script for FLUX.
    """

    threshold: float

    look: ClassVar[Look] = Look.FIRST_BLOCK

    def signal(self, gate_input: GateInput, forced: bool) -> tuple[Tensor, Tensor]:
        assert gate_input.tokens is not None
        assert gate_input.probe is not None
        return gate_input.tokens, gate_input.probe

    def change(self, signal: tuple[Tensor, Tensor], before: tuple[Tensor, Tensor]) -> float:
        if signal[0].shape != before[0].shape:
            return math.inf
        dx, dy = (relative_changes(new, old) for new, old in zip(signal, before, strict=True))
        return (dy - dx).abs().mean().item()


def accumulate(
    changes: Iterable[float], threshold: float, forced: Collection[int] = ()
) -> Schedule:
    """The schedule of an accumulating gate whose changes are known before the run.

    That is so if they do not depend on what is cached, as with a signal of time alone.

    Args:
        changes: one for each step, from the step before; step 0 is full in any case.
        threshold: that of the gate.
        forced: steps that are full whatever the sum.
    """
    check_threshold(threshold)
    total, full, num_steps = 0.0, [], 0
    for step, change in enumerate(changes):
        total += change
        is_cached = step > 0 and step not in forced and math.isfinite(total) and total < threshold
        if not is_cached:
            full.append(step)
            total = 0.0
        num_steps += 1
    return Schedule(tuple(full), num_steps)
