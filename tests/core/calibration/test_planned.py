"""What planned methods are made of, by hand."""

import math

import pytest
import torch

from gph_core.calibration.planned import costs, products


def gram(*outputs):
    rows = torch.tensor(outputs, dtype=torch.float64)
    return {"gram": rows @ rows.T}


def test_the_products_of_the_last_fifth_are_added_up_by_themselves():
    samples = [gram([1.0, 0.0], [n, 1.0]) for n in range(10)]
    fitted = products(samples)
    # The squares of 0 to 7 add up to 140, the numbers to 28; those of 8 and 9 to 145 and 17.
    for name, sums in (
        ("gram", [[8.0, 28.0], [28.0, 148.0]]),
        ("held_out", [[2.0, 17.0], [17.0, 147.0]]),
    ):
        expected = torch.tensor(sums, dtype=torch.float64)
        torch.testing.assert_close(fitted.values[name], expected)
    assert (fitted.report["num_fit"], fitted.report["num_held_out"]) == (8, 2)


def test_the_errors_are_those_of_the_fitted_weights_on_both_sides():
    # The second output is twice the first where the weight is fitted, and the same where not.
    fitted = products([gram([100.0], [200.0]), gram([100.0], [100.0])])
    assert fitted.report["error_fit"] == pytest.approx(0, abs=1e-9)
    assert fitted.report["error_held_out"] == pytest.approx(1, rel=1e-3)  # (200 - 100)² / 100²


def test_weights_need_an_example_to_check_them():
    with pytest.raises(ValueError, match="at least 2 examples, one to check them, got 1"):
        products([gram([1.0], [1.0])])


def test_costs_are_means_of_what_is_finite():
    one, two = torch.tensor([[1.0, math.inf, 3.0]]), torch.tensor([[3.0, math.inf, math.nan]])
    fitted = costs([{"costs": one}, {"costs": two}])
    assert fitted.values["costs"].tolist() == [[2.0, math.inf, 3.0]]
    assert fitted.report == {"num_examples": 2}
    with pytest.raises(ValueError, match="at least 1 example"):
        costs([])
