"""How visible differences are: the published table, its worse column, and tallies of images."""

import math
import re
from pathlib import Path

import pytest

from gph_core.quality.verdict import GRADES, IDENTICAL, Tally, capped, verdict

LOCALES = Path(__file__).parents[3] / "web" / "locales"


@pytest.mark.parametrize(
    ("psnr", "ssim", "words"),
    [
        (math.inf, 1.0, "identical"),
        (45.0, 0.99, "not visible"),
        (41.2, 0.99, "hardly visible"),
        (50.0, 0.989, "hardly visible"),
        (33.0, 0.95, "hardly visible"),
        (41.2, 0.88, "visible"),
        (18.7, 0.5, "clearly visible"),
        (18.6, 0.9, "a different picture"),
        (41.2, None, "hardly visible"),
    ],
)
def test_the_worse_of_both_figures_decides(psnr, ssim, words):
    assert verdict(psnr, ssim) == words


def test_what_nobody_sees_does_not_count():
    assert [capped(psnr) for psnr in (39.9, 40.0, 40.1, math.inf)] == [39.9, 40.0, 40.0, 40.0]


@pytest.mark.parametrize(
    ("values", "worst"),
    [
        ([30.0], 30.0),
        ([29.0, 20.0, 28.0, 27.0, 26.0, 25.0, 24.0, 23.0, 22.0, 21.0], 20.0),  # ten
        ([30.0, 29.0, 20.0, 28.0, 27.0, 26.0, 25.0, 24.0, 23.0, 22.0, 21.0], 21.0),  # eleven
        ([*map(float, range(49, 29, -1))], 31.0),  # twenty: the lowest are 30 and 31
        ([*map(float, range(50, 29, -1))], 32.0),
    ],
)
def test_the_worst_tenth_is_rounded_up_to_whole_images(values, worst):
    assert Tally.of(values).worst == worst


def test_a_tally_has_the_mean_and_the_share_from_33_decibels_on():
    # The worst is below "visible", which a mean of 36.25 dB hides.
    assert Tally.of([32.9, 60.0, 33.0, 19.1]) == Tally(mean=36.25, worst=19.1, hardly=0.5)


def test_equal_images_are_hardly_visible_and_images_without_values_are_the_worst():
    assert Tally.of([30.0, math.inf]) == (math.inf, 30.0, 0.5)
    broken = Tally.of([math.nan, 35.0, 36.0, 37.0])
    assert broken[1:] == (-math.inf, 0.75)
    assert math.isnan(broken.mean)


@pytest.mark.parametrize("file", ["en_quality.js", "zh_quality.js"])
def test_the_page_says_every_verdict(file):
    text = (LOCALES / file).read_text("utf-8")
    said = set(re.findall(r'"quality\.verdict\.([^"]+)":', text))
    assert said == {IDENTICAL, *(grade.words for grade in GRADES)}
