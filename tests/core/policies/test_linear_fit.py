import math

import numpy as np
import pytest
import torch

from gph_core.policies.linear_fit import compounded_errors, fit, gram, relative_errors
from gph_core.schedule import Schedule


def outputs(seed=0, num_steps=7, size=40):
    """Outputs of one run that resemble each other from step to step."""
    walk = torch.randn(num_steps, size, generator=torch.Generator().manual_seed(seed))
    return (walk.cumsum(0) + 2).reshape(num_steps, 4, size // 4)


def least_squares(rows, steps, t, ridge):
    """The same problem as a plain least-squares system, with the ridge as further rows."""
    y = rows.flatten(1).double().numpy()
    pull = math.sqrt(ridge * max(np.mean(np.sum(y[steps] ** 2, axis=1)), 1))
    a = np.vstack((y[steps].T, pull * np.eye(len(steps))))
    b = np.concatenate((y[t], np.zeros(len(steps))))
    return np.linalg.lstsq(a, b, rcond=None)[0]


@pytest.mark.parametrize("scale", [1, 1e-3])  # small outputs: the ridge has a floor
def test_weights_are_those_of_ridge_regression_on_all_steps_before(scale):
    rows = outputs() * scale
    policy = fit(gram(rows), ridge=0.1)
    for t in range(1, 7):
        expected = least_squares(rows, range(t), t, 0.1)
        np.testing.assert_allclose(policy.matrix[t, :t], expected, rtol=1e-5, atol=1e-6)
    assert not policy.matrix.triu().any()


def test_weights_for_a_schedule_use_its_full_steps_only():
    rows, schedule = outputs(), Schedule.parse("0-1,3,6/7")
    policy = fit(gram(rows), schedule, ridge=0.01)
    for t, steps in {1: [0], 2: [0, 1], 4: [0, 1, 3], 5: [0, 1, 3]}.items():
        expected = least_squares(rows, steps, t, 0.01)
        np.testing.assert_allclose(policy.matrix[t, steps], expected, rtol=1e-5, atol=1e-6)
    assert not policy.matrix[:, [2, 4, 5]].any()


def test_weights_for_a_schedule_refuse_another():
    conditions = {"family": "FLUX"}
    policy = fit(gram(outputs()), Schedule.parse("0-1,3,6/7"), conditions=conditions)
    assert policy.conditions == {"family": "FLUX", "schedule": "0-1,3,6/7"}
    policy.check(Schedule.parse("0-1,3,6/7"), "FLUX")
    policy.check(Schedule.all_full(7), "FLUX")
    message = "fitted for the schedule 0-1,3,6/7, this run has 0-2,6/7; take that schedule"
    with pytest.raises(ValueError, match=message):
        policy.check(Schedule.parse("0-2,6/7"), "FLUX")
    with pytest.raises(ValueError, match="the outputs are of 7 steps, the schedule has 5"):
        fit(gram(outputs()), Schedule.parse("0/5"))


def test_an_exact_linear_relation_is_recovered():
    rows = outputs(num_steps=5).flatten(1).double()
    rows[4] = 0.5 * rows[0] - 1.25 * rows[1] + 2 * rows[3]
    policy = fit(gram(rows), ridge=1e-12)
    expected = torch.tensor([0.5, -1.25, 0, 2, 0])
    torch.testing.assert_close(policy.matrix[4], expected, atol=1e-5, rtol=0)
    assert relative_errors(policy.matrix, gram(rows))[4] < 1e-10


def test_gram_matrices_add_up_over_branches_and_runs():
    one, other = outputs(0), outputs(1)
    together = torch.cat((one.flatten(1), other.flatten(1)), dim=1).double()
    torch.testing.assert_close(gram(one) + gram(other), together @ together.T)


def test_a_gram_matrix_is_exact_for_half_precision_outputs_one_at_a_time():
    rows = [torch.full((2, 3), value, dtype=torch.bfloat16) for value in (1.0, 256.0, 3.0)]
    found = gram(iter(rows))
    assert found.dtype is torch.float64
    assert found.tolist() == [[6, 1536, 18], [1536, 6 * 65536, 4608], [18, 4608, 54]]


def test_a_run_with_a_value_that_is_not_finite_is_refused():
    rows = outputs()
    rows[3, 0, 0] = math.inf
    with pytest.raises(ValueError, match="the output of step 3 is not finite; leave this run out"):
        gram(rows)


def test_errors_are_those_of_predictions_from_outputs_that_were_not_fitted():
    policy = fit(gram(outputs(0)))
    held_out = outputs(1).flatten(1).double()
    predicted = policy.matrix.double() @ held_out
    expected = (held_out - predicted).square().sum(1) / held_out.square().sum(1)
    found = relative_errors(policy.matrix, gram(outputs(1)))
    torch.testing.assert_close(found, expected)
    assert found[0] == 1


def test_without_a_solution_the_step_before_is_repeated():
    matrix = fit(torch.full((3, 3), math.inf, dtype=torch.float64)).matrix
    assert matrix.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_equal_outputs_without_a_ridge_share_the_weight():
    matrix = fit(torch.ones(3, 3, dtype=torch.float64), ridge=0).matrix
    torch.testing.assert_close(matrix[2], torch.tensor([0.5, 0.5, 0]))


def test_errors_of_a_cached_run_are_those_of_predictions_made_of_predictions():
    rows, schedule = outputs().flatten(1).double(), Schedule.parse("0-1,4,6/7")
    weights = fit(gram(outputs(1))).matrix
    run = rows.clone()
    for step in (2, 3, 5):
        run[step] = (weights[step, :step, None].double() * run[:step]).sum(0)
    expected = (rows - run).square().sum(1) / rows.square().sum(1)
    found = compounded_errors(weights, gram(outputs()), schedule)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-9)
    assert not found[[0, 1, 4, 6]].any()
    assert found[3] > relative_errors(weights, gram(outputs()))[3]  # which knows the output of 2


def test_errors_of_weights_for_a_schedule_do_not_compound():
    schedule = Schedule.parse("0-1,4,6/7")
    weights = fit(gram(outputs()), schedule).matrix
    found = compounded_errors(weights, gram(outputs(1)), schedule)
    alone = relative_errors(weights, gram(outputs(1)))
    torch.testing.assert_close(found[[2, 3, 5]], alone[[2, 3, 5]])
