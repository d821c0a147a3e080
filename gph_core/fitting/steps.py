"""Steps of a sampler: how each state follows from the one before and the velocities so far.

A sampler that is known only as a function is tried on a few numbers. Samplers act on every number
of a latent alone. So a latent whose n-th number gets a velocity of 1 at the n-th evaluation, and 0
at all others, shows how far each velocity moves each state. A second run, with random velocities,
shows whether that is all: whether the states are sums of velocities.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..run.levels import NoiseLevels

# A function of a model, a state, noise levels and a seed that returns the last state. The model
# takes a state and noise levels, one for each item of the batch, and returns the denoised state.
Sampler = Callable[[Callable[..., Tensor], Tensor, Tensor, int], Tensor]

_TOLERANCE = 1e-4  # of states, to the largest number; samplers compute with 32 bits
_NOTHING = 1e-6  # of moves, to how far a velocity moves any state: rounding

# Pairs of a step and how far its velocity moves the state, newest first.
Moves = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Steps:
    """``x_{n+1} = x_n + Σ_{j ≤ n} L[n, j] v_j``, with x_n the state where the model is evaluated.

    Args:
        moves: L of each step, with j = n first.
        end_level: noise level at which the sampler ends; some replace 0 by a small one.
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


def probe(sampler: Sampler, sigmas: Sequence[float]) -> Steps:
    """Steps of a sampler on ``N + 1`` noise levels.

    Raises ``ValueError`` that says why it has none: it draws noise, does not evaluate the model
    once a step, or its states are not sums of the velocities.
    """
    count = len(sigmas) - 1
    random = torch.Generator().manual_seed(0)
    start = torch.randn(1, 1, 1, count, generator=random)
    velocities = torch.randn(count, 1, 1, 1, count, generator=random)
    run = _Run(sampler, start, sigmas, velocities, seed=1)
    other = _Run(sampler, start, sigmas, velocities, seed=2)
    if not torch.equal(run.states[-1], other.states[-1]):
        raise ValueError("it adds noise during sampling, which no weights can predict")
    _check_levels(run.levels, sigmas)
    # [N + 1, 1, 1, 1, N]: of each state, how far each velocity has moved it.
    once = torch.eye(count).view(count, 1, 1, 1, count)
    moved = _Run(sampler, torch.zeros_like(start), sigmas, once, seed=1)
    reached = torch.stack(moved.states).view(count + 1, count)
    expected = start + torch.einsum("nj,jbchw->nbchw", reached, velocities)
    found = torch.stack(run.states)
    error = (found - expected).abs().max()
    if not error <= _TOLERANCE * found.abs().max():
        raise ValueError("its next state is not the previous one plus a weighted sum of velocities")
    lengths, least = reached.double().diff(dim=0).tolist(), _NOTHING * float(reached.abs().max())
    return Steps(tuple(_moves(n, row, least) for n, row in enumerate(lengths)), run.end_level)


class _Run:
    """Run of a sampler whose model answers with given velocities, one an evaluation."""

    def __init__(
        self, sampler: Sampler, start: Tensor, sigmas: Sequence[float], velocities: Tensor,
        seed: int,
    ) -> None:  # fmt: skip
        self.levels: list[float] = []
        self.states: list[Tensor] = []
        self._velocities = velocities
        levels = torch.tensor(sigmas, dtype=torch.float32)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            end = sampler(self._denoised, start.clone(), levels, seed)
        self.states.append(end)
        self.end_level = float(levels[-1])

    def _denoised(self, state: Tensor, sigma: Tensor, **_: Any) -> Tensor:
        number = min(len(self.levels), len(self._velocities) - 1)
        self.levels.append(float(sigma[0]))
        self.states.append(state.clone())
        return state - sigma[0] * self._velocities[number]


def _check_levels(found: Sequence[float], sigmas: Sequence[float]) -> None:
    """Raise ``ValueError`` unless the model is evaluated once at each noise level, in order."""
    count = len(sigmas) - 1
    if len(found) != count:
        raise ValueError(f"it evaluates the model {len(found)} times in {count} steps")
    levels = NoiseLevels(sigmas)
    if [levels.step_at(level) for level in found] != list(range(count)):
        raise ValueError("it evaluates the model at other noise levels than those of the run")


def _moves(step: int, lengths: Sequence[float], least: float) -> Moves:
    """Moves of a step that are longer than ``least``."""
    if not abs(lengths[step]) > least:
        raise ValueError(f"its step {step} does not use what the model returned there")
    return tuple((n, lengths[n]) for n in range(step, -1, -1) if abs(lengths[n]) > least)
