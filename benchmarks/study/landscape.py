"""Landscape of a space of which every schedule is scored.

Quality stands in arrays ``[S, P]`` of schedules, in the order of their space, and prompts.

Source: GPH paper, appendix *Exhaustive high-ratio schedule search*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace
from numpy.typing import ArrayLike


class Shared(NamedTuple):
    """The schedule with the best mean over the prompts; of equals the first.

    Args:
        row: of it.
        regrets: ``[P]``, how far it stays below the best schedule of each prompt alone.
    """

    row: int
    mean: float
    regrets: np.ndarray


def shared(quality: ArrayLike) -> Shared:
    """One schedule for all prompts, beside the optimum of each."""
    values = np.asarray(quality, dtype=np.float64)
    means = values.mean(axis=1)
    row = int(means.argmax())
    return Shared(row, float(means[row]), values.max(axis=0) - values[row])


def near_best_mean(quality: ArrayLike, margins: Sequence[float]) -> list[int]:
    """Number of schedules with a mean at most each margin below the best one, which counts."""
    means = np.asarray(quality, dtype=np.float64).mean(axis=1)
    return [int((means.max() - means <= margin).sum()) for margin in margins]


def near_every_optimum(quality: ArrayLike, margin: float) -> int:
    """Number of schedules at most a margin below the optimum of every single prompt."""
    values = np.asarray(quality, dtype=np.float64)
    return int((values.max(axis=0) - values <= margin).all(axis=1).sum())


class Optimum(NamedTuple):
    """A schedule that is no worse than any one-swap neighbor.

    Args:
        regret: of its mean, below the best of all.
        share: of the climbs that end there.
    """

    schedule: Schedule
    regret: float
    share: float


def optima(
    space: ScheduleSpace, means: ArrayLike, starts: Iterable[Schedule] | None = None
) -> list[Optimum]:  # fmt: skip
    """Schedules where steepest ascent by one swap ends, the best first.

    It moves to the best neighbor, of equals the first in the order of the space's neighbors, as
    long as that is better.

    Args:
        means: ``[S]`` in the order of the space.
        starts: of the climbs; by default every schedule, which gives the whole basins.
    """
    values = np.asarray(means, dtype=np.float64)
    if values.shape != (space.size,):
        raise ValueError(f"the space has {space.size} schedules, the means are {values.shape}")
    known = dict(zip(space, values.tolist(), strict=True))
    ends: dict[Schedule, Schedule] = {}
    found = Counter(
        _climb(space, known, ends, start) for start in (known if starts is None else starts)
    )
    climbs, best = found.total(), values.max()
    return [
        Optimum(schedule, float(best - known[schedule]), count / climbs)
        for schedule, count in sorted(found.items(), key=lambda item: -known[item[0]])
    ]


def _climb(
    space: ScheduleSpace, means: dict[Schedule, float], ends: dict[Schedule, Schedule],
    start: Schedule,
) -> Schedule:  # fmt: skip
    """End of a climb; ``ends`` of former ones shorten it and take what was learned."""
    path = [start]
    while (here := path[-1]) not in ends:
        best = max(space.neighbors(here), key=means.__getitem__, default=here)
        if means[best] <= means[here]:
            ends[here] = here
        else:
            path.append(best)
    ends.update(dict.fromkeys(path, ends[path[-1]]))
    return ends[start]
