import math

import pytest

from gph_core.quality.stats import spearman


def test_ranks_are_correlated_not_values():
    assert spearman([1, 2, 3], [1, 10, 100]) == pytest.approx(1)
    # 1 - 6 Σ d² / (n (n² - 1)), with d = 0, 1, 1.
    assert spearman([1, 2, 3], [4, 6, 5]) == pytest.approx(0.5)
    assert spearman([[1, 2], [3, 4]], [[4, 3], [2, 1]]) == pytest.approx(-1)


def test_ties_have_their_mean_rank():
    # Ranks 1.5, 1.5, 3 and 1, 2, 3: covariance 1.5, variances 1.5 and 2.
    assert spearman([7, 7, 9], [1, 2, 3]) == pytest.approx(1.5 / math.sqrt(1.5 * 2))


@pytest.mark.parametrize("pair", [([], []), ([1], [2]), ([1, 1], [1, 2]), ([1, 2], [3, 3])])
def test_without_two_different_values_there_is_none(pair):
    assert spearman(*pair) is None
