"""The error of a cached run, step by step: what each step adds, and what earlier ones left.

Notation: states z and velocities v; F of the full run; a tilde marks the cached run's states, a bar
the velocities that it used; ``v^CF`` is the full model at a cached run's state.

Source: GPH paper, section *Current approximations and earlier errors*, appendices
*State and current contributions* and *Complete cached trajectories*.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from torch import Tensor

from ..files import forms
from ..files.jsonl import JsonlFile
from ..quality.stats import spearman
from .isolated_steps import exact, norm


@dataclass(frozen=True, slots=True)
class Decomposition:
    """L2 norms along a cached run and the full run from the same noise.

    Args:
        cached_steps: the steps that the run set out to cache.
        current: N norms of ``a_n = v̄_n - v_n^CF``, the current contribution.
        state: N norms of ``g_n = v_n^CF - v_n^F``, the state contribution.
        velocity: N norms of ``v̄_n - v_n^F = a_n + g_n``.
        gaps: N + 1 norms of ``e_n = z̃_n - z_n^F``; the last one is the output error.
        chord: ``‖z_N^F - z_0^F‖``.
        rounding: the largest ``‖e_{n+1} - e_n - Δτ_n (a_n + g_n)‖ / ‖z_{n+1}^F‖``, which is 0 but
            for rounding.
    """

    cached_steps: tuple[int, ...]
    current: tuple[float, ...]
    state: tuple[float, ...]
    velocity: tuple[float, ...]
    gaps: tuple[float, ...]
    chord: float
    rounding: float

    @property
    def current_sum(self) -> float:
        """``E_current = Σ_n ‖a_n‖``."""
        return sum(self.current)

    @property
    def state_sum(self) -> float:
        """``E_state = Σ_n ‖g_n‖``."""
        return sum(self.state)

    @property
    def output_error(self) -> float:
        """``‖e_N‖``."""
        return self.gaps[-1]

    @property
    def normalized_gaps(self) -> tuple[float, ...]:
        """N + 1 values of ``D_n``: the gap per length of the full run's chord."""
        return tuple(gap / self.chord for gap in self.gaps)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Decomposition:
        """Read what ``to_dict`` wrote and JSON gave back; ``ValueError`` for anything else."""
        run = forms.read(cls, data)
        lengths = {len(run.current), len(run.state), len(run.velocity), len(run.gaps) - 1}
        if len(lengths) != 1 or not run.chord > 0:
            raise ValueError("the norms are of different numbers of steps, or there is no chord")
        return run


def decompose(
    full: Callable[[int, Tensor], Tensor],
    planned: Callable[[int, Tensor], tuple[Tensor, bool]],
    start: Tensor,
    sigmas: Sequence[float],
) -> Decomposition:
    """Take the full run and the cached one side by side, step by step, under Euler.

    The split is exact by construction; the state recursion ``e_{n+1} = e_n + Δτ_n (a_n + g_n)``
    holds for this sampler and is checked at each step. Only the states of one step are in memory.

    Args:
        full: velocity in full, after guidance, by step and state; it leaves the cached run alone.
        planned: velocity in the cached run, called in the order of steps; whether it is cached.
        start: the state before step 0 of both runs.
        sigmas: N + 1 noise levels.
    """
    full_state = cached_state = start
    cached_steps, current, state, velocity, gaps = [], [], [], [], [0.0]
    rounding = 0.0
    for step in range(len(sigmas) - 1):
        length = sigmas[step + 1] - sigmas[step]
        used, is_cached = planned(step, cached_state)
        there = full(step, cached_state) if is_cached else used
        # Until the first cached step both runs are in the same state.
        here = full(step, full_state) if cached_steps else there
        if is_cached:
            cached_steps.append(step)
        v = exact(there)
        a, g = exact(used) - v, v - exact(here)
        expected = exact(cached_state) - exact(full_state) + length * (a + g)
        full_state = full_state + here * length
        cached_state = cached_state + used * length
        gap = exact(cached_state) - exact(full_state)
        rounding = max(rounding, norm(gap - expected) / norm(full_state))
        current.append(norm(a))
        state.append(norm(g))
        velocity.append(norm(a + g))
        gaps.append(norm(gap))
    norms = (tuple(values) for values in (current, state, velocity, gaps))
    chord = norm(exact(full_state) - exact(start))
    return Decomposition(tuple(cached_steps), *norms, chord=chord, rounding=rounding)


class Correlations(NamedTuple):
    """Spearman's correlations with the output error; None where one is not defined."""

    state: float | None  # of E_state
    current: float | None  # of E_current


def over_runs(runs: Sequence[Decomposition]) -> Correlations:
    """Correlations over runs, such as all prompts under one schedule, as in the source."""
    errors = [run.output_error for run in runs]
    return Correlations(
        spearman([run.state_sum for run in runs], errors),
        spearman([run.current_sum for run in runs], errors),
    )


def over_schedules(runs: Mapping[str, Sequence[Decomposition]]) -> Correlations:
    """Correlations over schedules, by the means of each over its prompts."""

    def means(name: str) -> list[float]:
        return [statistics.fmean(getattr(run, name) for run in some) for some in runs.values()]

    errors = means("output_error")
    return Correlations(
        spearman(means("state_sum"), errors), spearman(means("current_sum"), errors)
    )


def median_gaps(runs: Sequence[Decomposition]) -> tuple[float, ...]:
    """The median ``D_n`` over runs at each state."""
    return tuple(map(statistics.median, zip(*(r.normalized_gaps for r in runs), strict=True)))


class Split(NamedTuple):
    """A line of a file: the decomposed errors of one run."""

    example: str  # its identity, the same in every session
    prompt: str  # for people; may be empty
    seed: int
    name: str  # of the schedule, for people
    plan: str  # its identity
    decomposition: Decomposition


LINES = JsonlFile(
    "golden-path-decompositions-1",
    "decomposition",
    "decomposed run",
    lambda split: {**split._asdict(), "decomposition": split.decomposition.to_dict()},
    lambda data: forms.read(Split, data),
)
