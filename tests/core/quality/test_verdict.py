"""How visible a difference is: the published table, and its worse column."""

import math
import re
from pathlib import Path

import pytest

from gph_core.quality.verdict import GRADES, IDENTICAL, verdict

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


@pytest.mark.parametrize("file", ["en_quality.js", "zh_quality.js"])
def test_the_page_says_every_verdict(file):
    text = (LOCALES / file).read_text("utf-8")
    said = set(re.findall(r'"quality\.verdict\.([^"]+)":', text))
    assert said == {IDENTICAL, *(grade.words for grade in GRADES)}
