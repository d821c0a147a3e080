"""Fits to a few runs: what they are pulled towards, and what they cost."""

import pytest
import torch

from gph_core.fitting import closed_loop, crossed, least_squares
from gph_core.fitting.least_squares import Strength
from gph_core.learning import few_runs
from gph_core.policies.weights import GUIDED

from ...support.few_runs import SCHEDULE, runs_of, second


@pytest.mark.parametrize("fitting", [few_runs.pooled, few_runs.crossed])
def test_runs_whose_velocity_is_linear_in_the_noise_level_end_where_the_full_ones_do(fitting):
    # v = a + b σ is a combination of any two velocities, so weights of one run fit all.
    a, b = torch.randn(2, 1, 2, 20, generator=torch.Generator().manual_seed(1))
    runs, full, _ = runs_of(3, lambda _, sigma: a + sigma * b)
    for end, states in zip(fitting(SCHEDULE, runs, 3).ends, full, strict=True):
        torch.testing.assert_close(end, states[-1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("fitting", "plain"),
    [(few_runs.pooled, closed_loop.fit), (few_runs.crossed, crossed.crossed)],
)
def test_they_are_those_of_as_many_runs_with_the_same_aim(fitting, plain):
    runs, full, _ = runs_of(4, toward=lambda step, anchors: [1.3, -0.3], second=second)
    found = fitting(SCHEDULE, runs, 3)
    expected = plain(
        SCHEDULE, runs.steps, lambda n: [states[n] for states in full[:3]], runs.velocities,
        runs.toward,
    )  # fmt: skip
    assert found.policy == expected.policy
    for end, other in zip(found.ends, expected.ends, strict=True):
        assert torch.equal(end, other)


@pytest.mark.parametrize("fitting", [few_runs.pooled, few_runs.crossed])
def test_the_model_is_asked_at_full_steps_alone_for_all_runs_together(fitting):
    runs, _, asked = runs_of(3)
    fitting(SCHEDULE, runs, 2)
    assert asked == [(0, 2), (1, 2), (3, 2)]


@pytest.mark.parametrize("fitting", [few_runs.pooled, few_runs.crossed])
def test_weights_that_go_no_share_of_the_way_are_those_without_a_path(monkeypatch, fitting):
    monkeypatch.setattr(least_squares, "best_strength", lambda *_: Strength(1e-2, 0.0))
    runs, *_ = runs_of(3, toward=lambda step, anchors: [1.3, -0.1 * step], second=second)
    found = fitting(SCHEDULE, runs, 3).policy.weights
    assert [(step, [(term.step, *term.weights) for term in terms]) for step, terms in found] == [
        (2, [(1, 1.3), (0, -0.2)]),
        (4, [(3, 1.3), (1, -0.4), (0, 0.0)]),
        (5, [(3, 1.3), (1, -0.5), (0, 0.0)]),
    ]
    assert all(term.stream == GUIDED for _, terms in found for term in terms)


@pytest.mark.parametrize("fitting", [few_runs.pooled, few_runs.crossed])
def test_a_single_run_is_held_at_weights_for_all_channels(fitting):
    runs, *_ = runs_of(1, second=second)
    terms = [term for _, own in fitting(SCHEDULE, runs, 1).policy.weights for term in own]
    assert {(len(term.weights), term.stream) for term in terms} == {(1, GUIDED)}
