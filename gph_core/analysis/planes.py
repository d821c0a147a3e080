"""The planes in which runs leave their chords, and the angles between them.

Source: GPH paper, shape and direction of individual trajectories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .trajectory import Parts, chord_fractions, chord_length, compact, off_chord_vectors


@dataclass(frozen=True)
class Plane:
    """The first two principal components of a run's off-chord vectors.

    Args:
        explained: share of the centered off-chord variance along each; NaN for a straight run.
        curve: ``[N + 1, 2]`` off-chord vectors along both, as a part of the chord.
        weights: ``[2, N + 1]``; the weighted sums of the states are unit vectors that span the
            plane. None if the run bends in fewer than two directions, and so has no plane.
    """

    explained: tuple[float, float]
    curve: Tensor
    weights: Tensor | None


def plane_of(states: Tensor) -> Plane:
    """The plane of a run's states, or of the points that ``compact`` gives for them.

    The sign of a component is free; here the largest value on the curve is positive.
    """
    vectors = off_chord_vectors(states)
    left, scales, right = torch.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    # The rank of the matrix: smaller scales are rounding.
    rounding = torch.finfo(torch.float64).eps * len(states) * states.flatten(1).double().norm()
    rank = int((scales > rounding).sum())
    used = min(rank, 2)
    variances = (scales**2)[:used] / (scales**2).sum() if used else torch.full((2,), torch.nan)
    curve = torch.zeros(len(states), 2, dtype=torch.float64)
    curve[:, :used] = vectors @ right[:used].T / chord_length(states)
    signs = torch.where(curve.gather(0, curve.abs().argmax(0, keepdim=True)) < 0, -1.0, 1.0)
    weights = None
    if used == 2:
        weights = signs.T * (left[:, :2] / scales[:2]).T @ _centered_off_chord(states)
    first, second = (*variances.tolist(), 0.0)[:2]
    return Plane((first, second), curve * signs, weights)


def _centered_off_chord(states: Tensor) -> Tensor:
    """``[N + 1, N + 1]``; its product with the states is their centered off-chord vectors."""
    fractions = chord_fractions(states)
    weights = torch.eye(len(fractions), dtype=torch.float64)
    weights[:, 0] -= 1 - fractions
    weights[:, -1] -= fractions
    return weights - weights.mean(0)


def bases(runs: Sequence[Parts], planes: Sequence[Plane]) -> Tensor:
    """Two vectors of each run that span its plane, all rotated together into few dimensions.

    One part of one run is in memory at a time.

    Args:
        runs: all cut at the same coordinates.
        planes: of each run; all have weights.

    Returns:
        ``[R, 2, D]``, orthonormal in pairs, D at most 2R.
    """

    def basis(plane: Plane, part: Tensor) -> Tensor:
        assert plane.weights is not None
        return plane.weights @ part.flatten(1).double()

    pairs = list(zip(planes, runs, strict=True))
    parts = (
        torch.cat([basis(plane, run[number]) for plane, run in pairs])
        for number in range(len(runs[0]))
    )
    return compact(parts).unflatten(0, (-1, 2))


def principal_angles(first: Tensor, second: Tensor) -> Tensor:
    """The principal angles between planes in degrees: ``[..., 2]``, the smaller one first.

    From cosines and sines, as either loses digits at one end.

    Args:
        first, second: ``[..., 2, D]`` with orthonormal rows.
    """
    overlap = second @ first.mT
    cosines = torch.linalg.svdvals(overlap)
    sines = torch.linalg.svdvals(second - overlap @ first).flip(-1)
    return torch.rad2deg(torch.atan2(sines, cosines))


def angles_between(planes: Tensor) -> dict[tuple[int, int], float]:
    """The first principal angle of each pair of planes in degrees, by their numbers.

    Args:
        planes: ``[R, 2, D]``, as ``bases`` gives them.
    """
    by_pair = {}
    for one in range(len(planes) - 1):
        others = planes[one + 1 :]
        angles = principal_angles(planes[one].expand_as(others), others)[:, 0].tolist()
        by_pair |= {(one, one + 1 + n): angle for n, angle in enumerate(angles)}
    return by_pair


def random_plane_angles(num_coordinates: int, num_pairs: int = 500, seed: int = 0) -> Tensor:
    """Principal angles of pairs of random planes in degrees: ``[P, 2]``, the smaller one first.

    Two planes together span four dimensions, so no vector of the latent's size is drawn: only the
    second plane's part along the first one, and the length and angle of the rest, by the Bartlett
    decomposition. That is exact in any dimension.

    Args:
        num_coordinates: of the space.

    Raises:
        ValueError: the space has fewer than four dimensions, where planes always meet in a line.
    """
    if num_coordinates < 4:
        raise ValueError(
            f"the latent has {num_coordinates} coordinates, but planes can be apart only where "
            "there are at least 4"
        )
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((num_pairs, 2, 4))
    vectors[:, 0, 2] = np.sqrt(rng.chisquare(num_coordinates - 2, num_pairs))
    vectors[:, 1, 3] = np.sqrt(rng.chisquare(num_coordinates - 3, num_pairs))
    vectors[:, 0, 3] = 0
    second = torch.linalg.qr(torch.from_numpy(vectors).mT).Q.mT
    return principal_angles(torch.eye(2, 4, dtype=torch.float64).expand_as(second), second)
