"""Margins that a choice stands for, and choices that have none."""

import pytest

from gph_core.quality import reports
from gph_core.quality.margin_choice import DERIVED, OWN, PUBLISHED, margins_of, values_of
from gph_core.quality.objective import OBJECTIVES

from ...support.made_shootouts import EARLY, report, row

ROWS = [row("uniform", [20.0, 21.0, 22.0]), row("mine", [23.0, 20.0, 22.5], EARLY)]
# With two more cached steps the medians 21 and 22.5 fall to 18 and 17.5: 1.5 and 2.5 each.
FEWER = [
    row("uniform", [18.0, 17.0, 19.0], "0,9/10"), row("mine", [17.5, 17.0, 18.0], "0,5/10"),
]  # fmt: skip


def tables(*made):
    return reports.tables(made, OBJECTIVES["PSNR"])


def test_margins_are_published_derived_or_written():
    both = tables(report(ROWS), report(FEWER, full_steps=2))
    assert margins_of(PUBLISHED, "", "PSNR", both) == (0.25, 0.5, 1.0)
    assert margins_of(DERIVED, "", "PSNR", both) == pytest.approx((1.0, 2.0, 4.0))
    assert margins_of(OWN, "2 0.5", "PSNR", both) == (0.5, 2.0)


def test_margins_that_cannot_be_had_are_an_error():
    one = tables(report(ROWS))
    with pytest.raises(ValueError, match="with two or more numbers of full steps"):
        margins_of(DERIVED, "", "PSNR", one)
    with pytest.raises(ValueError, match="no margins were published for latent MSE"):
        margins_of(PUBLISHED, "", "latent MSE", one)


@pytest.mark.parametrize("text", ["", "0.5, x", "-1", "0", "inf", "nan"])
def test_written_margins_are_positive_numbers(text):
    with pytest.raises(ValueError, match="are no margins; write positive numbers"):
        values_of(text)
