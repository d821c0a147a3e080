"""Gates that add up the change from step to step and compute once the sum reaches the threshold.

The change is that from the step before, full or cached; the sum holds this step's too when it is
compared, and a full step, forced or not, sets it to zero.
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

# By family, from which cache ratio on a tenth of DiCache's run is full at first, else a fifth: in
# the seed paper's code at 0.82, for Wan at 0.74 too.
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

    On Wan that is a function of time alone, so ``accumulate`` knows the schedule before the run.

    Args:
        polynomial: fitted for one model and one kind of signal. A change beyond those that it
            holds for counts as the nearest of them, and a negative result as zero.
        exact: the polynomial is taken as it is, so that a sum may be negative, which is below any
            threshold.

    Source: TeaCache, arXiv 2411.19108, whose code is the exact one.
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
    """The relative change of the same tokens behind a filter that leaves what is signal by now.

    Args:
        raw_if_forced: forced steps leave their tokens unfiltered. The published code for FLUX does
            so, and step 1 is full at any usual threshold; on other models it filters every step.

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
    """The relative change of what the first block hands on, which therefore always runs.

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
    """Difference of the relative changes before and behind the first block.

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
    """The schedule that an accumulating gate makes where all changes are known before the run.

    That is where they do not depend on what is cached, as with a signal of time alone.

    Args:
        changes: what the gate adds up, at each step that from the one before; step 0 is full
            whatever is given for it.
        threshold: of the gate.
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
