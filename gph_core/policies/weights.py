"""Bounds of fitted weights: no fit goes beyond them, so no file may.

``bench fitted-weights`` measured weights; docs/decisions/schedules_and_paths.md derives the bounds.
Reuse of the newest velocity, the weight 1 alone, is within all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Pairs of a full step and its weight, newest first.
Weights = tuple[tuple[int, float], ...]

MAX_ANCHORS = 3  # full steps that have a weight at one step, at most
ROUNDING = 1e-6  # the fit adds in another order
HALVINGS = 20  # of the way from reuse; weights that need more become reuse


class Size(NamedTuple):
    """Sum of weights, and that of their absolute values."""

    total: float
    absolute: float

    def __add__(self, other: Size) -> Size:  # type: ignore[override] - not of tuples
        return Size(self.total + other.total, self.absolute + other.absolute)


REUSE = Size(1.0, 1.0)


class Bounds(NamedTuple):
    """Range of a sum of weights, and the largest sum of their absolute values."""

    low: float
    high: float
    absolute: float

    def hold(self, size: Size, count: int = 1, rounding: float = 0.0) -> bool:
        """Whether the mean of ``count`` steps, whose sizes add up to ``size``, is within them."""
        is_between = self.low * count - rounding <= size.total <= self.high * count + rounding
        return is_between and size.absolute <= self.absolute * count + rounding

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}, their absolute values to {self.absolute:g} at most"


OF_STEP = Bounds(-3.0, 5.0, 64.0)
# For means over the cached steps of a path. Guidance makes sums negative in runs of few steps.
OF_MEAN, OF_FEW_STEPS = Bounds(0.05, 1.25, 16.0), Bounds(-0.5, 1.25, 16.0)
FEW_STEPS = 11


def of_mean(num_steps: int) -> Bounds:
    """Bounds in the mean of the cached steps of a path of so many steps."""
    return OF_FEW_STEPS if num_steps <= FEW_STEPS else OF_MEAN


def size(weights: Sequence[float]) -> Size:
    """Size of the weights of a step."""
    return Size(sum(weights), sum(map(abs, weights)))


def check(weights: Sequence[tuple[int, Weights]], num_steps: int) -> None:
    """Raise ``ValueError`` for weights of cached steps that no fit gives.

    Args:
        num_steps: of the path.
    """
    whole, in_mean = Size(0.0, 0.0), of_mean(num_steps)
    for step, pairs in weights:
        if len(pairs) > MAX_ANCHORS:
            raise ValueError(
                f"step {step} has {len(pairs)} weights, a fit gives {MAX_ANCHORS} at most: "
                f"{_ADVICE}"
            )
        own = size([weight for _, weight in pairs])
        if not OF_STEP.hold(own, rounding=ROUNDING):
            raise ValueError(_beyond(f"the weights of step {step}", own, OF_STEP))
        whole += own
    count = len(weights)
    if not in_mean.hold(whole, count, ROUNDING):
        mean = Size(whole.total / count, whole.absolute / count)
        raise ValueError(_beyond("the weights of a step, in the mean,", mean, in_mean))


_ADVICE = "they are damaged or were changed; search again, or ask for the file again"


def _beyond(what: str, found: Size, bounds: Bounds) -> str:
    return (
        f"{what} add up to {found.total:.3g}, their absolute values to {found.absolute:.3g}; a fit "
        f"gives {bounds}: {_ADVICE}"
    )


def confined(
    found: Sequence[float], before: Sequence[Weights], num_cached: int, num_steps: int
) -> list[float]:
    """The weights of a step, moved towards reuse as far as the bounds require.

    Weights are within the bounds if they are so with reuse at all later steps.

    Args:
        found: those of the fit.
        before: those of the cached steps before.
        num_cached, num_steps: of the path.
    """
    whole = Size(0.0, 0.0)
    for pairs in before:
        whole += size([weight for _, weight in pairs])
    later = num_cached - len(before) - 1
    whole += Size(later * REUSE.total, later * REUSE.absolute)
    for weights in _toward_reuse(found):
        own = size(weights)
        if OF_STEP.hold(own) and of_mean(num_steps).hold(whole + own, num_cached):
            return weights
    return [1.0, *[0.0] * (len(found) - 1)]


def _toward_reuse(found: Sequence[float]) -> Iterator[list[float]]:
    """The weights as they are, then each time half as far from reuse."""
    yield list(found)
    reuse = [1.0, *[0.0] * (len(found) - 1)]
    for halvings in range(1, HALVINGS):
        share = 0.5**halvings
        yield [rounded(r + share * (w - r)) for r, w in zip(reuse, found, strict=True)]


def rounded(weight: float) -> float:
    """A weight as a golden path keeps it."""
    return float(f"{weight:.9g}")
