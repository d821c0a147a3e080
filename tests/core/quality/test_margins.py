"""Margins from what one more cached step costs."""

import pytest

from gph_core.quality.margins import FACTORS, PUBLISHED, changes_per_cached_step, derived

# The source's median change per cached step more, of 16 values each.
MEDIANS = {"PSNR": 0.592, "SSIM": 0.0138, "LPIPS": 0.0202}


def test_changes_by_hand():
    # Medians 29, 25 and 22 dB at 29, 37 and 41 of 50 steps, as the source spaces them.
    quality = [[20.0, 29.0, 30.0], [25.0, 25.0, 10.0], [22.0, 21.0, 40.0]]
    assert changes_per_cached_step(quality, (29, 37, 41)) == [4 / 8, 3 / 4]
    assert changes_per_cached_step(quality[::-1], (41, 37, 29)) == [4 / 8, 3 / 4]


def test_the_median_is_of_all_schedules_and_counts():
    assert derived([0.1, 0.5, 0.7, 2.0]) == pytest.approx((0.3, 0.6, 1.2))


@pytest.mark.parametrize("metric", PUBLISHED)
def test_the_published_margins_are_about_half_one_and_two_times_the_median(metric):
    # The source says 0.42, 0.84 and 1.69 for PSNR; the other two are nearer.
    for margin, factor in zip(PUBLISHED[metric], FACTORS, strict=True):
        assert margin / MEDIANS[metric] == pytest.approx(factor, rel=0.17)
    assert [round(m / 0.592, 2) for m in PUBLISHED["PSNR"]] == [0.42, 0.84, 1.69]


def test_without_two_numbers_of_cached_steps_there_is_no_change():
    for counts in ((29,), (29, 29)):
        with pytest.raises(ValueError, match="two or more different numbers of cached steps"):
            changes_per_cached_step([[1.0]] * len(counts), counts)


def test_quality_that_does_not_fall_gives_no_margins():
    with pytest.raises(ValueError, match=r"quality changes by -0\.2 .*; margins need it to fall"):
        derived([-0.2, -0.3, 0.4])
