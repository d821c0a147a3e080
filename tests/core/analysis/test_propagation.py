import itertools

import numpy as np
import pytest
from scipy.stats import spearmanr

from gph_core.analysis.isolated_steps import IsolatedStep
from gph_core.analysis.propagation import Observations, transfer

SIGMAS = (1.0, 0.75, 0.5, 0.25, 0.0)
# Two prompts, steps 1 and 2: ‖r‖, ‖δv‖, ‖η‖ = ‖δv‖/4, ‖e‖.
FIRST = [IsolatedStep(1, (8.0,), 16.0, 4.0, 1.0), IsolatedStep(2, (4.0,), 8.0, 2.0, 1.0)]
SECOND = [IsolatedStep(1, (1.0,), 4.0, 1.0, 0.75), IsolatedStep(2, (2.0,), 2.0, 0.5, 1.0)]


@pytest.fixture
def two():
    return Observations.of([FIRST, SECOND], SIGMAS)


def made(num_prompts, num_steps=6, seed=0):
    """Random measurements."""
    rng = np.random.default_rng(seed)
    sigmas = np.linspace(1, 0, num_steps + 1) ** 2
    prompts = [
        [IsolatedStep(k, (row[0],), *row[1:]) for k, row in enumerate(rows.tolist(), 1)]
        for rows in rng.uniform(0.1, 2, (num_prompts, num_steps - 2, 4))
    ]
    return prompts, sigmas


def test_gains_of_two_prompts_by_hand(two):
    np.testing.assert_allclose(two.velocity_gains, [[2, 2], [4, 1]])
    np.testing.assert_allclose(two.future_gains, [[0.25, 0.5], [0.75, 2]])
    # Both gains averaged apart: 3 · 1/4 · 0.5 and 1.5 · 1/4 · 1.25.
    np.testing.assert_allclose(two.gains, [0.375, 0.46875])


def test_of_two_prompts_each_takes_the_gain_of_the_other(two):
    np.testing.assert_allclose(two.gains_of_others, [[0.75, 0.5], [0.125, 0.25]])


def test_the_six_scores_of_two_prompts_by_hand(two):
    expected = {
        "step_only": [[-1, -2], [-1, -2]],
        "feature_error": [[8, 4], [1, 2]],
        "feature_error_x_step_size": [[2, 1], [0.25, 0.5]],
        "next_state_error_estimate": [[8, 1], [0.5, 1]],
        "propagation_gain": [[0.75, 0.5], [0.125, 0.25]],
        "feature_error_x_gain": [[6, 2], [0.125, 0.5]],
    }
    scores = two.scores()
    assert scores.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(scores[name], values)


def test_gains_leave_the_evaluated_prompt_out_and_correlations_pool_all_pairs():
    prompts, sigmas = made(5)
    found = Observations.of(prompts, sigmas).correlations()
    products, errors = [], []
    for i, j in itertools.product(range(5), range(4)):
        others = [prompts[n][j] for n in range(5) if n != i]
        step = prompts[i][j]
        velocity = sum(o.velocity_error / o.feature_error for o in others) / 4
        future = sum(o.output_error / o.next_state_error for o in others) / 4
        size = sigmas[step.step] - sigmas[step.step + 1]
        products.append(step.feature_error * velocity * size * future)
        errors.append(step.output_error)
    assert found["feature_error_x_gain"] == pytest.approx(spearmanr(products, errors).statistic)
    steps = [-step.step for row in prompts for step in row]
    assert found["step_only"] == pytest.approx(spearmanr(steps, errors).statistic)


def test_a_score_that_does_not_vary_has_no_correlation():
    rows = [[IsolatedStep(1, (1.0,), 1.0, 1.0, error)] for error in (1.0, 2.0, 3.0)]
    found = Observations.of(rows, (1.0, 0.5, 0.25)).correlations()
    assert found["feature_error"] is None
    # The mean of the others' gains falls where the own one rises.
    assert found["feature_error_x_gain"] == pytest.approx(-1)


def test_a_step_without_any_error_has_the_gain_0():
    zero = [[IsolatedStep(1, (0.0,), 0.0, 0.0, 0.0)]] * 2
    assert Observations.of(zero, (1.0, 0.5, 0.25)).gains.tolist() == [0]


def test_halves_are_of_even_and_odd_prompts():
    prompts, sigmas = made(4)
    found = transfer(Observations.of(prompts, sigmas))
    even, odd = (Observations.of(prompts[n::2], sigmas) for n in (0, 1))
    assert found.profiles == pytest.approx(spearmanr(even.gains, odd.gains).statistic)
    own = spearmanr((even.feature_errors * even.gains).ravel(), even.output_errors.ravel())
    other = spearmanr((odd.feature_errors * even.gains).ravel(), odd.output_errors.ravel())
    assert found.own["even"] == pytest.approx(own.statistic)
    assert found.other["odd"] == pytest.approx(other.statistic)


def test_one_prompt_has_gains_but_no_others():
    one = Observations.of([FIRST], SIGMAS)
    np.testing.assert_allclose(one.gains, [0.125, 0.25])
    with pytest.raises(ValueError, match="there is only one; measure two or more"):
        one.correlations()
    with pytest.raises(ValueError, match="two halves need two prompts"):
        transfer(one)


def test_prompts_with_other_steps_or_none_are_refused():
    with pytest.raises(ValueError, match="have different ones measured"):
        Observations.of([FIRST, SECOND[:1]], SIGMAS)
    with pytest.raises(ValueError, match="no prompt has been measured"):
        Observations.of([], SIGMAS)
