"""Profiles of trajectories, and their spread over runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..files.strict_json import finite
from . import trajectory
from .planes import Plane, plane_of


@dataclass(frozen=True, slots=True)
class Profile:
    """The shape of one run, in numbers; see ``trajectory`` for each.

    Args:
        num_coordinates: of the latent.
        turning: degrees, of the states from ``window`` on.
        floor: degrees that rounding alone would give, of the same states.
    """

    num_coordinates: int
    window: int
    chord_length: float
    displacement: tuple[float, ...]
    off_chord: tuple[float, ...]
    norm: tuple[float, ...]
    turning: tuple[float, ...]
    floor: tuple[float, ...]
    plane: Plane

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without the plane's weights; None for what is undefined."""
        fields = {name: getattr(self, name) for name in _QUANTITIES}
        shape = {"explained": self.plane.explained, "curve": self.plane.curve.tolist()}
        return finite({**fields, **shape})


_QUANTITIES = ("chord_length", "displacement", "off_chord", "norm", "turning", "floor")


@dataclass(frozen=True, slots=True)
class RunSpread:
    """Spread of a quantity over runs, at each index; a number has one index.

    Args:
        deviation: population standard deviation.
        cv: coefficient of variation in percent, the deviation over the mean; NaN where the mean
            is zero. Source: GPH paper, step-by-step changes across prompts.
        low, high: quartiles.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    cv: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[Any]) -> RunSpread:
        """Spread of the values of runs, numbers or rows of equal length."""
        rows = np.array(values, dtype=np.float64).reshape(len(values), -1)
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        cv = np.full_like(mean, np.nan)
        np.divide(100 * deviation, mean, out=cv, where=mean != 0)
        low, median, high = np.quantile(rows, (0.25, 0.5, 0.75), axis=0)
        columns = (mean, deviation, cv, median, low, high)
        return cls(*(tuple(column.tolist()) for column in columns))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for what is undefined."""
        return finite(asdict(self))


def profile_of(
    parts: trajectory.Parts, window: int = trajectory.WINDOW, dtype: torch.dtype = torch.float32
) -> Profile:
    """The profile of a run, with one part of it in memory at a time.

    Args:
        parts: of its states, read twice.
        window: steps on either side of a turning angle.
        dtype: precision of the states, for the floor of the turning angles.

    Raises:
        ValueError: there are too few states, some are not finite, or the run ends where it began.
    """
    sizes = []

    def counted() -> Iterator[Tensor]:
        for part in parts:
            sizes.append(part[0].numel())
            yield part

    points = trajectory.compact(counted())
    return Profile(
        num_coordinates=sum(sizes),
        window=window,
        chord_length=trajectory.chord_length(points),
        displacement=_row(trajectory.displacements(points)),
        off_chord=_row(trajectory.off_chord_distances(points)),
        norm=_row(trajectory.state_norms(points, sum(sizes))),
        turning=_row(trajectory.turning_angles(points, window)),
        floor=_row(trajectory.rounding_floor(parts, window, dtype)),
        plane=plane_of(points),
    )


def spreads(profiles: Sequence[Profile]) -> dict[str, RunSpread]:
    """Spreads of all quantities, with the shares that PC1 and both PCs explain.

    Raises:
        ValueError: the runs differ in their number of steps or in the size of the latent.
    """
    check_alike(
        [len(profile.displacement) for profile in profiles],
        [profile.num_coordinates for profile in profiles],
    )
    quantities = {name: RunSpread.of([getattr(p, name) for p in profiles]) for name in _QUANTITIES}
    first = [profile.plane.explained[0] for profile in profiles]
    both = [sum(profile.plane.explained) for profile in profiles]
    return {**quantities, "pc1": RunSpread.of(first), "pc1_pc2": RunSpread.of(both)}


def check_alike(num_steps: Sequence[int], num_coordinates: Sequence[int]) -> None:
    """``ValueError`` unless runs agree in steps and latent coordinates."""
    for what, counts in (("steps", num_steps), ("latent coordinates", num_coordinates)):
        if len(set(counts)) > 1:
            different = " and ".join(map(str, sorted(set(counts))))
            raise ValueError(
                f"runs of {different} {what} cannot be compared step by step; choose runs of one "
                "recording"
            )


def signal_to_floor(together: Mapping[str, RunSpread]) -> tuple[float, ...]:
    """Ratio of the median turning angles to those by rounding alone.

    Infinite where rounding does nothing. Source: GPH paper, appendix on the precision
    of turning angles.
    """
    pairs = zip(together["turning"].median, together["floor"].median, strict=True)
    return tuple(angle / floor if floor else math.inf for angle, floor in pairs)


def _row(values: Tensor) -> tuple[float, ...]:
    return tuple(values.tolist())
