"""Rankings on few prompts and on others, by hand."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.study.transfer import losses, transfer

# Of five schedules; ranks 1, 2, 3, 4, 5 and 2, 1, 3, 5, 4.
CALIBRATION = [9.0, 8.0, 7.0, 6.0, 5.0]
HELD_OUT = [3.5, 4.0, 3.0, 1.0, 2.0]


def test_a_transfer_by_hand():
    found = transfer(CALIBRATION, HELD_OUT, top=2)
    assert found.spearman == pytest.approx(1 - 6 * 4 / (5 * 24))  # four ranks are off by one
    assert found.winner_rank == 2
    assert found.winner_loss == 0.5
    assert (found.shared_top, found.top) == (2, 2)
    assert transfer(CALIBRATION, HELD_OUT, top=4).shared_top == 3
    assert transfer(CALIBRATION, HELD_OUT).top == 5


def test_equal_means_share_their_ranks():
    # Ranks 1.5, 1.5, 3 and 1, 2, 3: Pearson's correlation of these.
    found = transfer([2.0, 2.0, 1.0], [3.0, 2.0, 1.0])
    assert found.spearman == pytest.approx(np.corrcoef([1.5, 1.5, 3], [1, 2, 3])[0, 1])
    assert transfer([2.0, 1.0, 0.0], [5.0, 5.0, 1.0]).winner_rank == 1


def test_the_correlation_is_the_one_of_scipy():
    first, second = np.random.default_rng(0).integers(0, 9, (2, 50)).astype(float)  # with ties
    expected = spearmanr(first, second).statistic
    assert transfer(first, second).spearman == pytest.approx(expected)


def test_what_has_no_ranking_is_refused():
    with pytest.raises(ValueError, match="the same mean"):
        transfer([1.0, 1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\)"):
        transfer([1.0, 2.0], [1.0, 2.0, 3.0])


# Three schedules on three examples: means 4, 5 and 3. Each wins one example alone.
SCORES = [[9.0, 2.0, 1.0], [6.0, 6.0, 3.0], [1.0, 1.0, 7.0]]


def test_losses_of_fewer_examples_by_hand():
    np.testing.assert_allclose(losses(SCORES, 1), [1.0, 0.0, 2.0])
    # On 1+2 the second wins (6), on 1+3 the first (5), on 2+3 the second (4.5).
    np.testing.assert_allclose(losses(SCORES, 2), [0.0, 1.0, 0.0])
    np.testing.assert_allclose(losses(SCORES, 3), [0.0])


def test_what_counts_may_be_other_prompts():
    np.testing.assert_allclose(losses(SCORES, 1, [10.0, 8.0, 11.0]), [1.0, 3.0, 0.0])


def test_of_many_subsets_some_are_drawn_the_same_for_a_seed():
    scores = np.random.default_rng(0).normal(size=(20, 16))
    found = losses(scores, 8, at_most=50)
    assert len(found) == 50
    np.testing.assert_array_equal(found, losses(scores, 8, at_most=50))
    assert len(losses(scores, 1, at_most=50)) == 16
    with pytest.raises(ValueError, match="17 of 16 scoring examples"):
        losses(scores, 17)
