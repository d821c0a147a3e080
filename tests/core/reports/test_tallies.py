"""``reports/tallies``: what a mean of PSNR hides, in reports, tables and on the page."""

import re
from pathlib import Path

import pytest

from gph_core.reports import tallies

LOCALES = Path(__file__).parents[3] / "web" / "locales"


@pytest.mark.parametrize(
    ("values", "worst", "share"),
    [
        ([40.0, 32.9, 33.0, 50.0], 32.9, 0.75),
        (["identical", 30.0], 30.0, 0.5),
        (["identical", "identical"], "identical", 1.0),
        ([40.0, None], None, 0.5),  # null stands for a value that is no number
        # The two lowest are the worst tenth of 20.
        ([20.0, 30.0, *[40.0] * 18], 30.0, 0.9),
    ],
)
def test_several_values_have_a_tally(values, worst, share):
    figures = {"mean": 1.0, "values": values}
    assert tallies.tallied(figures) == {**figures, "worst_tenth": worst, "hardly_visible": share}


def test_a_single_value_has_none():
    figures = {"mean": 30.0, "values": [30.0]}
    assert tallies.tallied(figures) == figures
    assert tallies.columns([{}, {"psnr": figures}, {"ssim": figures}]) == []


def test_the_cells_of_rows_without_a_tally_are_empty():
    def row(worst, share):
        return {"psnr": {"worst_tenth": worst, "hardly_visible": share}}

    metrics = [{}, row(23.456, 0.625), row("identical", 1.0), row(None, 0.0)]
    assert tallies.columns(metrics) == [
        ("worst tenth", ["", "23.46", "identical", "not a number"]),
        ("hardly visible", ["", "63 %", "100 %", "0 %"]),
    ]


def test_the_legend_names_the_limit_of_the_scale():
    assert tallies.legend("videos") == (
        "worst tenth: a tenth of the videos have this PSNR or less (of up to ten videos, the "
        "lowest); hardly visible: share of videos of at least 33 dB, whose difference is hardly "
        "visible or not visible at all"
    )


@pytest.mark.parametrize("file", ["en_quality.js", "zh_quality.js"])
def test_the_page_names_the_same_limit(file):
    text = (LOCALES / file).read_text("utf-8")
    (tip,) = re.findall(r'"quality\.hardly_visible\.tip": "(.*)"', text)
    assert " 33 dB" in tip
