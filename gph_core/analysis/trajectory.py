"""The path of one run through latent space: how long, how straight, and where it turns.

State n of N + 1 is the latent after n steps; step n leads from state n to state n + 1. States are
``[N + 1, ...]`` tensors, one state a row, computed with in float64.

Distances and angles do not change if all states are rotated together. ``compact`` rotates a run,
part by part, into the few dimensions that its states span. All other functions take these points
instead of the states, so that a run is never in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import torch
from torch import Tensor

WINDOW = 5  # steps on either side of a state, as in the source


class Parts(Protocol):
    """The states of a run in parts ``[N + 1, ...]``, each with some coordinates of all states.

    A list with the states of a run as its only part will do.
    """

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Tensor: ...
    def __iter__(self) -> Iterator[Tensor]: ...


def compact(parts: Iterable[Tensor]) -> Tensor:
    """Points in few dimensions, with the distances of some vectors to each other and to zero.

    By QR decomposition: products of vectors would halve the precision.

    Args:
        parts: of vectors such as states, ``[V, ...]``, each with some coordinates of all vectors.

    Returns:
        ``[V, D]`` in float64, D at most V.

    Raises:
        ValueError: a vector has values that are not finite, or there are no parts.
    """
    triangle = None
    for part in parts:
        values = part.flatten(1).double()
        _check_finite(values)
        rows = values.T if triangle is None else torch.cat([triangle, values.T])
        triangle = torch.linalg.qr(rows, mode="r").R
    if triangle is None:
        raise ValueError("there are no states")
    return triangle.T


def chord_length(states: Tensor) -> float:
    """The distance between the first state and the last one, L in the source.

    ``ValueError``, here and where it is a divisor, if there are fewer than two states, the run ends
    where it began, or a state has values that are not finite.
    """
    points = _points(states)
    length = float((points[-1] - points[0]).norm())
    if length == 0:
        raise ValueError("the run ends where it began, so it has no chord; record one with denoise")
    return length


def displacements(states: Tensor) -> Tensor:
    """Distance that each step moves, as a part of the chord: ``[N]``."""
    return _points(states).diff(dim=0).norm(dim=1) / chord_length(states)


def chord_fractions(states: Tensor) -> Tensor:
    """Place of each state along the chord: ``[N + 1]``, 0 at its start and 1 at its end."""
    chord_length(states)  # raises without a chord
    points = _points(states)
    along = (points - points[0]) @ (points[-1] - points[0])
    return along / along[-1]


def off_chord_vectors(states: Tensor) -> Tensor:
    """Vectors from the chord to each state, at right angles to the chord: ``[N + 1, D]``.

    Exactly zero for the first and the last state. Source: GPH paper, off-chord vector.
    """
    points = _points(states)
    return points - points[0] - torch.outer(chord_fractions(states), points[-1] - points[0])


def off_chord_distances(states: Tensor) -> Tensor:
    """Distance of each state from the chord, as a part of its length: ``[N + 1]``."""
    return off_chord_vectors(states).norm(dim=1) / chord_length(states)


def state_norms(states: Tensor, num_coordinates: int | None = None) -> Tensor:
    """The norm of each state over the root of the latent's number of coordinates: ``[N + 1]``.

    Args:
        num_coordinates: of the latent, for points of ``compact``, which have fewer.
    """
    points = _points(states)
    return points.norm(dim=1) / (num_coordinates or points.shape[1]) ** 0.5


def turning_angles(states: Tensor, window: int = WINDOW) -> Tensor:
    """The change of direction around each inner state, in degrees.

    NaN where a state equals that of ``window`` steps before or after.

    Args:
        window: number of steps on either side, w in the source.

    Returns:
        ``[N + 1 - 2w]`` for the states w to N - w.

    Source: GPH paper, turning angle. Computed as 2 atan2(|u - v|, |u + v|) of unit
    vectors, as arccos loses half of the digits of small angles.
    """
    points = _points(states)
    check_window(len(points), window)
    middle = points[window : len(points) - window]
    before, after = middle - points[: -2 * window], points[2 * window :] - middle
    u, v = (steps / steps.norm(dim=1, keepdim=True) for steps in (before, after))
    return torch.rad2deg(2 * torch.atan2((u - v).norm(dim=1), (u + v).norm(dim=1)))


def rounding_floor(
    parts: Iterable[Tensor], window: int = WINDOW, dtype: torch.dtype = torch.float32
) -> Tensor:
    """The turning angles that rounding alone would give, in degrees.

    Each inner state is replaced by the middle of the states ``window`` steps before and after,
    rounded to a precision; without rounding the angle would be zero.

    Args:
        parts: of the states themselves, as for ``compact``; rounding differs between directions.
        dtype: the precision of the states.

    Returns:
        ``[N + 1 - 2w]`` for the states w to N - w.

    Source: GPH paper, appendix on the precision of turning angles. With h half of the
    way between the two states and e the rounding error, the angle between h + e and h - e is
    atan2(2 |h ∧ e|, |h|² - |e|²).
    """
    products = torch.zeros(3, 1, dtype=torch.float64)
    for part in parts:
        states = part.flatten(1).double()
        check_window(len(states), window)
        first, last = states[: -2 * window], states[2 * window :]
        middle = (first + last) / 2
        h, e = (last - first) / 2, middle.to(dtype).double() - middle
        products = products + torch.stack([h * h, e * e, h * e]).sum(dim=2)
    hh, ee, he = products
    return torch.rad2deg(torch.atan2(2 * (hh * ee - he**2).clamp(min=0).sqrt(), hh - ee))


def check_window(num_states: int, window: int) -> None:
    """``ValueError`` unless a run has a state with so many steps on either side."""
    if not 1 <= window <= (num_states - 1) // 2:
        raise ValueError(
            f"a window of {window} steps on either side needs at least "
            f"{max(2 * window + 1, 3)} states, the run has {num_states}; choose a smaller window "
            "from 1 on, or record runs of more steps"
        )


def _points(states: Tensor) -> Tensor:
    """The states as ``[N + 1, D]`` in float64."""
    if len(states) < 2:
        raise ValueError(f"a trajectory needs at least 2 states, this run has {len(states)}")
    points = states.flatten(1).double()
    _check_finite(points)
    return points


def _check_finite(states: Tensor) -> None:
    broken = (~states.isfinite().all(dim=1)).nonzero()
    if len(broken):
        raise ValueError(
            f"state {int(broken[0])} of {len(states)} has values that are not finite; "
            "record this run again"
        )
