"""Coverage against worked examples and the GPH paper's tables."""

import math

import numpy as np
import pytest

from gph_core.quality.coverage import coverage, lower_bound, regrets, shared_schedule

from ...support.published_coverage import ROWS

# Four schedules on five prompts; the best ones are 30, 31, 29, 40 and 25.
QUALITY = [
    [30.0, 30.5, 28.0, 40.0, 24.0],
    [29.0, 31.0, 29.0, 39.5, 24.5],
    [28.0, 30.0, 28.5, 39.0, 25.0],
    [29.5, 28.0, 27.0, 38.0, 23.0],
]
REGRETS = [
    [0.0, 0.5, 1.0, 0.0, 1.0],
    [1.0, 0.0, 0.0, 0.5, 0.5],
    [2.0, 1.0, 0.5, 1.0, 0.0],
    [0.5, 3.0, 2.0, 2.0, 2.0],
]


def counts(share, prompts):
    """The numbers of prompts whose share is rounded to a published one."""
    return [n for n in range(prompts + 1) if abs(n / prompts - share) <= 0.0005 + 1e-9]


def test_all_published_bounds_are_reproduced():
    checked = 0
    for row in ROWS:
        candidates = row.candidates if row.metric == "enlarged" else 1
        for share, bound in row.cells:
            found = [
                lower_bound(n, row.prompts, candidates) for n in counts(share, row.prompts)
            ]  # fmt: skip
            assert any(abs(low - bound) <= 0.0005 + 1e-9 for low in found), row
            checked += 1
    assert checked == 126


@pytest.mark.parametrize(
    ("metric", "margin", "passed", "lowest"),
    [
        ("PSNR", 0, 8, None), ("PSNR", 1, 12, 0.529), ("SSIM", 0, 7, None), ("SSIM", 1, 12, 0.521),
        ("LPIPS", 0, 8, None), ("LPIPS", 1, 10, 0.477),
    ],
)  # fmt: skip
def test_as_many_corrected_bounds_exceed_a_half_as_the_paper_says(metric, margin, passed, lowest):
    bounds = [
        lower_bound(counts(row.cells[margin][0], row.prompts)[0], row.prompts, row.candidates)
        for row in ROWS
        if row.metric == metric
    ]
    assert sum(bound > 0.5 for bound in bounds) == passed
    assert lowest is None or min(bounds) == pytest.approx(lowest, abs=0.0006)


def test_regrets_are_to_the_best_candidate_of_each_prompt():
    np.testing.assert_array_equal(regrets(QUALITY), REGRETS)


def test_one_that_is_no_candidate_may_be_ahead_of_the_best():
    found = regrets([[31.0, 30.0, 29.0, 40.0, 20.0]], QUALITY)
    np.testing.assert_array_equal(found, [[-1.0, 1.0, 0.0, 0.0, 5.0]])


def test_a_regret_of_just_the_margin_is_inside():
    shares = [found.share for found in coverage(REGRETS[0], (0.25, 0.5, 1.0))]
    assert shares == [2 / 5, 3 / 5, 1.0]


def test_the_shared_schedule_is_the_one_with_the_highest_coverage():
    assert [shared_schedule(REGRETS, margin) for margin in (0.25, 0.5, 1.0)] == [0, 1, 0]
    assert shared_schedule(REGRETS[2:], 0.25) == 0


def test_a_bound_by_hand():
    # All of n prompts: p^n = level, so the bound is its n-th root. None: nothing is known.
    assert lower_bound(20, 20) == pytest.approx(0.05 ** (1 / 20))
    assert lower_bound(20, 20, 10) == pytest.approx(0.005 ** (1 / 20))
    assert lower_bound(0, 20) == 0


def test_a_choice_of_several_lowers_the_corrected_bound_alone():
    alone, chosen = (coverage(REGRETS[0], (0.5,), number)[0] for number in (1, 4))
    assert alone.lower == alone.corrected == chosen.lower
    assert chosen.corrected == pytest.approx(lower_bound(3, 5, 4))
    assert chosen.corrected < chosen.lower


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_what_has_no_distance_is_refused(value):
    with pytest.raises(ValueError, match="1 of 4 values are infinite or no numbers"):
        regrets([[1.0, value], [1.0, 2.0]])
    with pytest.raises(ValueError, match="a quality for each schedule and prompt"):
        regrets([1.0, 2.0])
