"""The additive fit against hand computation and least squares."""

import numpy as np
import pytest

from gph_core.analysis.interaction import interaction

# GPH paper: mean PSNR of its six searched schedules under five policies, equal weight over four
# datasets. Reuse, Taylor 1, Hermite 2, interval average, two-anchor.
SEARCHED = [
    [29.104, 29.931, 30.257, 30.342, 30.775], [24.001, 24.013, 24.513, 24.542, 24.990],
    [21.060, 19.459, 20.334, 20.325, 21.131], [31.017, 31.812, 31.981, 32.205, 32.450],
    [25.183, 24.612, 25.294, 24.549, 25.637], [21.471, 20.473, 21.414, 20.346, 21.628],
]  # fmt: skip


def test_two_schedules_under_two_policies_by_hand():
    # Grand mean 3.5; rows -2, 2; columns -1.5, 1.5; 1 - (3.5 - 2 - 1.5) = 1. Squares: 16, 9, 4.
    found = interaction([[1.0, 2.0], [3.0, 8.0]])
    assert found.mean == 3.5
    np.testing.assert_allclose(found.schedules, [-2, 2])
    np.testing.assert_allclose(found.policies, [-1.5, 1.5])
    np.testing.assert_allclose(found.residuals, [[1, -1], [-1, 1]])
    assert found.shares == pytest.approx((16 / 29, 9 / 29, 4 / 29))


def test_the_fit_is_least_squares_with_dummy_variables():
    values = np.array(SEARCHED)
    rows, columns = (index.ravel() for index in np.indices(values.shape))
    design = np.hstack([np.eye(6)[rows], np.eye(5)[columns]])
    fitted = design @ np.linalg.lstsq(design, values.ravel())[0]
    found = interaction(SEARCHED)
    np.testing.assert_allclose(found.residuals.ravel(), values.ravel() - fitted, atol=1e-12)
    np.testing.assert_allclose(
        found.shares.interaction, (values.ravel() - fitted).var() / values.var()
    )


def test_parallel_curves_have_no_interaction():
    found = interaction(np.array([[1.0], [4.0], [2.0]]) + np.array([[0.0, 0.5, -3.0]]))
    assert found.shares.interaction == pytest.approx(0)


def test_without_differences_or_a_second_one_there_is_nothing_to_explain():
    with pytest.raises(ValueError, match="all the same"):
        interaction([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="two or more schedules under two or more policies"):
        interaction([[1.0, 2.0]])
    with pytest.raises(ValueError, match="infinite or no number"):
        interaction([[1.0, np.nan], [1.0, 1.0]])
