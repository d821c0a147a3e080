import itertools

import pytest
import torch
from scipy.stats import spearmanr

from gph_core.analysis.decomposition import (
    Correlations,
    Decomposition,
    decompose,
    median_gaps,
    over_runs,
    over_schedules,
)

SIGMAS = (1.0, 0.75, 0.5, 0.25, 0.0)


class Halving:
    """v = 2 z, so that an Euler step of 1/4 halves the state; cached steps repeat the velocity."""

    def __init__(self, cached_steps):
        self.cached_steps, self.calls = cached_steps, []

    def full(self, step, state):
        self.calls.append(step)
        return 2 * state

    def planned(self, step, state):
        if step not in self.cached_steps:
            self.newest = 2 * state
        return self.newest, step in self.cached_steps


def test_a_linear_run_is_split_as_by_hand():
    # z^F: 16, 8, 4, 2, 1. With the steps 1 and 3 cached: v̄ = 32, 32, 0, 0 and z̃ = 16, 8, 0, 0, 0.
    model = Halving({1, 3})
    found = decompose(model.full, model.planned, torch.tensor([16.0]), SIGMAS)
    assert found == Decomposition(
        cached_steps=(1, 3),
        current=(0, 16, 0, 0),  # 32 - 2·8 at step 1; 0 - 2·0 at step 3
        state=(0, 0, 8, 4),  # 0 - 2·4, 0 - 2·2
        velocity=(0, 16, 8, 4),
        gaps=(0, 0, 4, 2, 1),
        chord=15,
        rounding=0,
    )
    assert (found.current_sum, found.state_sum, found.output_error) == (16, 12, 1)
    assert found.normalized_gaps == (0, 0, 4 / 15, 2 / 15, 1 / 15)
    # In full only where that is not known: at the cached states, then along the full run.
    assert model.calls == [1, 2, 3, 3]


def test_a_run_without_cached_steps_has_no_error():
    model = Halving(())
    found = decompose(model.full, model.planned, torch.tensor([16.0]), SIGMAS)
    assert found.gaps == (0,) * 5
    assert found.current_sum == found.state_sum == found.rounding == 0
    assert model.calls == []


class Curved:
    """A nonlinear velocity, its step size and its newest value in the place of a cached one."""

    def __init__(self, cached_steps):
        generator = torch.Generator().manual_seed(0)
        self.matrix = torch.randn(30, 30, generator=generator) / 5
        self.cached_steps = cached_steps

    def full(self, step, state):
        return torch.tanh(self.matrix @ state) * (1 + step) - state

    def planned(self, step, state):
        if step not in self.cached_steps:
            self.newest = self.full(step, state)
        return self.newest, step in self.cached_steps


def test_the_contributions_are_those_of_both_runs_computed_apart():
    start = torch.randn(30, generator=torch.Generator().manual_seed(1))
    model, sigmas = Curved({2, 3, 6}), [1 - (n / 8) ** 2 for n in range(9)]
    found = decompose(model.full, model.planned, start, sigmas)
    full, cached, used = [start], [start], []
    for step, (here, there) in enumerate(itertools.pairwise(sigmas)):
        full.append(full[-1] + model.full(step, full[-1]) * (there - here))
        used.append(model.planned(step, cached[-1])[0])
        cached.append(cached[-1] + used[-1] * (there - here))
    current = [(v - model.full(n, cached[n])).norm().item() for n, v in enumerate(used)]
    state = [(model.full(n, cached[n]) - model.full(n, full[n])).norm().item() for n in range(8)]
    gaps = [(c - f).norm().item() for c, f in zip(cached, full, strict=True)]
    assert found.current == pytest.approx(current, abs=1e-5)
    assert found.state == pytest.approx(state, abs=1e-5)
    assert found.gaps == pytest.approx(gaps, abs=1e-5)
    assert found.chord == pytest.approx((full[-1] - start).norm().item())
    assert 0 < found.rounding < 1e-6
    assert found.output_error > 0.1


def run(state_sum, current_sum, error):
    return Decomposition((1,), (current_sum,), (state_sum,), (0.0,), (0.0, error), 2.0, 0.0)


RUNS = [run(*sums) for sums in ((1, 9, 2), (3, 7, 4), (2, 8, 5), (5, 9.5, 7))]


def test_correlations_over_runs_are_those_of_scipy():
    errors = [2, 4, 5, 7]
    assert over_runs(RUNS) == pytest.approx(
        (spearmanr([1, 3, 2, 5], errors).statistic, spearmanr([9, 7, 8, 9.5], errors).statistic)
    )
    assert over_runs(RUNS[:1]) == Correlations(None, None)


def test_correlations_over_schedules_are_of_their_means():
    by_schedule = {"a": RUNS[:2], "b": RUNS[2:3], "c": RUNS[3:]}  # means 2, 2, 5 and 3, 5, 7
    found = over_schedules(by_schedule)
    assert found.state == pytest.approx(spearmanr([2, 2, 5], [3, 5, 7]).statistic)
    assert found.current == pytest.approx(spearmanr([8, 8, 9.5], [3, 5, 7]).statistic)


def test_the_gap_of_several_runs_is_their_median():
    assert median_gaps(RUNS) == (0, 2.25)  # of 1, 2, 2.5 and 3.5
