"""Steps of a sampler: how each state follows from the one before and the velocities so far."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

# Pairs of a step and how far its velocity moves the state, newest first.
Moves = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Steps:
    """``x_{n+1} = x_n + Σ_{j ≤ n} L[n, j] v_j``, with x_n the state where the model is evaluated.

    Args:
        moves: of each step, its L with j = n first.
        end_level: noise level that the sampler ends at; some replace 0 by a small one.
    """

    moves: tuple[Moves, ...]
    end_level: float

    def oldest_from(self, step: int) -> int:
        """Earliest step whose velocity moves a state at or after some step."""
        return min((moves[-1][0] for moves in self.moves[step:]), default=len(self.moves))


def euler(sigmas: Sequence[float]) -> Steps:
    """Steps of Euler's method, on ``N + 1`` noise levels."""
    lengths = [following - now for now, following in itertools.pairwise(sigmas)]
    return Steps(tuple(((n, length),) for n, length in enumerate(lengths)), sigmas[-1])
