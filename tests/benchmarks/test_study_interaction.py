"""Schedules under several policies: what the study makes of their quality."""

import numpy as np
import pytest

from benchmarks.study.parts import interaction


def under_policies(*means):
    """PSNR ``[S, A, 4]`` with these means ``[S, A]`` on both halves of the prompts."""
    return np.array(means)[:, :, None] + np.array([3.0, -3.0, 3.0, -3.0])


def test_schedules_and_policies_explain_shares_of_the_variance():
    quality = under_policies([1.0, 2.0], [3.0, 8.0], [5.0, 2.0])
    found = interaction.figures_of(["uniform", "BudCache", "random 1"], ["a", "b"], quality)
    # Grand mean 3.5; rows -2, 2, 0; columns -0.5, 0.5; left over 0, 0, -2, 2, 2, -2.
    shares = found["shares"]
    assert list(shares.values()) == pytest.approx([16 / 33.5, 1.5 / 33.5, 16 / 33.5])
    shares = found["shares of the source's schedules"]  # see test_interaction.py
    assert list(shares.values()) == pytest.approx([16 / 29, 9 / 29, 4 / 29])
    assert found["halves"] == pytest.approx(1)
    assert found["best"] == {"a": "random 1", "b": "BudCache"}
    assert found["losses"] == [[0, 6], [2, 0]]
    assert found["spearman"][0][1] == pytest.approx(0)  # 1, 2, 3 against 1.5, 3, 1.5


def test_a_loss_is_sure_if_its_interval_is_above_zero():
    quality = under_policies([1.0, 2.0], [3.0, 8.0], [5.0, 2.0])
    names = ["uniform", "BudCache", "random 1"]
    assert interaction.figures_of(names, ["a", "b"], quality)["sure"] == 2
    quality[2, 0] += (9, -9, 9, -9)  # ahead of BudCache by 11 and -7
    assert interaction.figures_of(names, ["a", "b"], quality)["sure"] == 1


def test_the_report_says_how_much_of_the_choice_belongs_to_the_policy():
    quality = under_policies([1.0, 2.0], [3.0, 8.0], [5.0, 2.0])
    found = interaction.figures_of(["uniform", "BudCache", "random 1"], ["a", "b"], quality)
    summary = interaction._summary(found | {"schedules": dict.fromkeys("abc", "")}, ["a", "b"])
    assert "3 schedules, of which 2 are best under a policy" in summary
    assert "loses 4.00 dB under another in the median, 6.00 at most" in summary
    assert "significant in 2 of 2 pairs" in summary
    assert "rankings 0.00 to 0.00" in summary
