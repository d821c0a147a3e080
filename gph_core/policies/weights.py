"""Fitted weights of a cached step, and their bounds: no fit goes beyond them, so no file may.

``bench fitted-weights`` measured weights; docs/decisions/schedules_and_paths.md derives the bounds.
Reuse of the newest velocity, the weight 1 alone, is within all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

# Velocities of a full step: after guidance, and of the guider's second prompt, which is the
# negative one of two.
GUIDED, SECOND = 0, 1


class Term(NamedTuple):
    """Weights of one velocity of a full step: one for each channel of the latent, or one for all.

    Args:
        stream: GUIDED or SECOND.
    """

    step: int
    weights: tuple[float, ...]
    stream: int = GUIDED


# Of a cached step: the guided velocities, newest first, then those of the second prompt.
Weights = tuple[Term, ...]

MOST_TERMS = {GUIDED: 3, SECOND: 2}  # of one step, at most
MOST_CHANNELS = 1024
ROUNDING = 1e-6  # the fit adds in another order
HALVINGS = 20  # of the way from reuse; weights that need more become reuse
DIGITS = 5  # what is lost is 100 dB below the velocities


class Size(NamedTuple):
    """Sum of weights, and that of their absolute values; of one channel, or of each."""

    total: float | np.ndarray
    absolute: float | np.ndarray

    def __add__(self, other: Size) -> Size:  # type: ignore[override] - not of tuples
        return Size(self.total + other.total, self.absolute + other.absolute)

    @property
    def mean(self) -> Size:
        """The mean of the channels."""
        return Size(float(np.mean(self.total)), float(np.mean(self.absolute)))


REUSE = Size(1.0, 1.0)


class Bounds(NamedTuple):
    """Range of a sum of weights, and the largest sum of their absolute values."""

    low: float
    high: float
    absolute: float

    def hold(self, size: Size, count: int = 1, rounding: float = 0.0) -> bool:
        """Whether the mean of ``count`` steps, whose sizes add up to ``size``, is within them."""
        total, absolute = map(np.asarray, size)
        is_between = (self.low * count - rounding <= total) & (
            total <= self.high * count + rounding
        )
        return bool((is_between & (absolute <= self.absolute * count + rounding)).all())

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}, their absolute values to {self.absolute:g} at most"


OF_STEP = Bounds(-4.0, 5.0, 96.0)  # of each channel
# For means over the cached steps of a path and its channels. Guidance makes sums negative in runs
# of few steps.
OF_MEAN, OF_FEW_STEPS = Bounds(0.05, 1.25, 16.0), Bounds(-0.5, 1.25, 16.0)
FEW_STEPS = 11


def of_mean(num_steps: int) -> Bounds:
    """Bounds in the mean of the cached steps of a path of so many steps."""
    return OF_FEW_STEPS if num_steps <= FEW_STEPS else OF_MEAN


def size(weights: Sequence[Sequence[float]] | np.ndarray) -> Size:
    """Size of the weights of a step, of each channel; ``[k, C]``, or one for all channels."""
    rows = np.broadcast_arrays(*map(np.asarray, weights)) if len(weights) else [np.zeros(1)]
    return Size(np.sum(rows, axis=0), np.sum(np.abs(rows), axis=0))


def check(weights: Sequence[tuple[int, Weights]], num_steps: int) -> None:
    """Raise ``ValueError`` for weights of cached steps that no fit gives.

    Args:
        num_steps: of the path.
    """
    whole, in_mean = Size(0.0, 0.0), of_mean(num_steps)
    for step, terms in weights:
        for stream, most in MOST_TERMS.items():
            if (found := sum(term.stream == stream for term in terms)) > most:
                raise ValueError(
                    f"step {step} has weights for {found} velocities {_OF[stream]}, a fit gives "
                    f"{most} at most: {_ADVICE}"
                )
        own = size([term.weights for term in terms])
        if not OF_STEP.hold(own, rounding=ROUNDING):
            raise ValueError(_beyond(f"the weights of step {step}", own, OF_STEP))
        whole += own.mean
    count = len(weights)
    if not in_mean.hold(whole, count, ROUNDING):
        mean = Size(whole.total / count, whole.absolute / count)
        raise ValueError(_beyond("the weights of a step, in the mean,", mean, in_mean))


_OF = {GUIDED: "after guidance", SECOND: "of the second prompt"}
_ADVICE = "they are damaged or were changed; search again, or ask for the file again"


def _beyond(what: str, found: Size, bounds: Bounds) -> str:
    low, high = np.min(found.total), np.max(found.total)
    total = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
    return (
        f"{what} add up to {total}, their absolute values to {np.max(found.absolute):.3g}; a fit "
        f"gives {bounds}: {_ADVICE}"
    )


def confined(
    found: np.ndarray, before: Sequence[Weights], num_cached: int, num_steps: int
) -> np.ndarray:
    """The weights ``[k, C]`` of a step, moved towards reuse as far as the bounds require.

    Weights are within the bounds if they are so with reuse at all later steps.

    Args:
        found: those of the fit, for the newest velocity first.
        before: those of the cached steps before.
        num_cached, num_steps: of the path.
    """
    whole = Size(0.0, 0.0)
    for terms in before:
        whole += size([term.weights for term in terms]).mean
    later = num_cached - len(before) - 1
    whole += Size(later * REUSE.total, later * REUSE.absolute)
    for weights in _toward_reuse(found):
        own = size(weights)
        if OF_STEP.hold(own) and of_mean(num_steps).hold(whole + own.mean, num_cached):
            return weights
    return _reuse(found)


def _toward_reuse(found: np.ndarray) -> Iterator[np.ndarray]:
    """The weights as they are, then each time half as far from reuse."""
    reuse = _reuse(found)
    yield rounded(found)
    for halvings in range(1, HALVINGS):
        yield rounded(reuse + 0.5**halvings * (found - reuse))


def _reuse(found: np.ndarray) -> np.ndarray:
    """The newest velocity alone."""
    reuse = np.zeros_like(found)
    reuse[0] = 1.0
    return reuse


def rounded(weights: np.ndarray) -> np.ndarray:
    """Weights as a golden path keeps them."""
    return np.array([[float(f"{w:.{DIGITS}g}") for w in row] for row in weights])
