import math
from dataclasses import replace

import numpy as np
import pytest

from gph_core.gates.coefficients import Magnitudes, magnitudes
from gph_core.planning.magcache import magnitude_schedule

TABLES = {row.model: row.fit for row in magnitudes()}
FLUX = TABLES["FLUX.1-dev"]
SAME = Magnitudes((1.0,) * 10)
RISING = Magnitudes((1.0, *(1.1,) * 9))


@pytest.mark.parametrize(
    ("model", "threshold", "bits", "num_cached"),
    [
        ("FLUX.1-dev", 0.24, "0001101110101111101111101101", 19),
        ("FLUX.1-dev", 0.24, "00000101101110111011011111011111011111011111011011", 35),
        ("Qwen-Image", 0.06, "00000000000000001000101010101010110110101000000000", 13),
        ("HunyuanVideo 540p", 0.24, "00000000001111011101111011111011110111111011110101", 32),
    ],
    ids=["FLUX, 28 steps", "FLUX, 50 steps", "Qwen-Image", "HunyuanVideo"],
)
def test_published_settings_give_the_published_schedules(model, threshold, bits, num_cached):
    schedule = magnitude_schedule(TABLES[model], len(bits), threshold)
    assert (schedule.bits, schedule.num_cached) == (bits, num_cached)


def test_errors_of_the_products_add_up():
    # After a full step 0.1, then 0.1 + 0.21 = 0.31, then 0.31 + 0.331 = 0.641.
    assert magnitude_schedule(RISING, 10, 0.35).bits == "0110110110"
    assert magnitude_schedule(RISING, 10, 0.65).bits == "0111011101"


def test_an_error_at_the_threshold_is_cached_where_the_model_says_so():
    half = Magnitudes((1.0, *(1.5,) * 3))  # exact in binary
    assert magnitude_schedule(half, 4, 0.5).bits == "0000"
    assert magnitude_schedule(replace(half, inclusive=True), 4, 0.5).bits == "0101"


def test_so_many_steps_in_a_row_are_cached():
    for max_cached, bits in ((2, "0110110110"), (0, "0000000000"), (None, "0111111111")):
        table = replace(SAME, max_cached=max_cached)
        assert magnitude_schedule(table, 10, 0.1).bits == bits


def test_the_first_share_of_a_run_is_full():
    cut = replace(SAME, retention=0.3)
    assert magnitude_schedule(cut, 9, 0.1).bits == "001111101"  # 2.7
    assert magnitude_schedule(replace(cut, rounds_retention=True), 9, 0.1).bits == "000111110"
    assert magnitude_schedule(replace(SAME, retention=0), 5, 0.1).bits == "01111"
    assert magnitude_schedule(replace(SAME, retention=1), 5, 0.1).bits == "00000"


@pytest.mark.parametrize(
    ("num_steps", "bits"),
    # A fifth of 26, 28 and 30 calls: 5.2, 5.6 and 6, cut to 5, 5 and 6, which is 3 steps.
    [(13, "0001111101111"), (14, "00011111011111"), (15, "000111110111110")],
)
def test_the_share_may_be_of_the_calls_of_both_branches(num_steps, bits):
    table = replace(SAME, retention=0.2, calls=2)
    assert magnitude_schedule(table, num_steps, 0.1).bits == bits
    assert TABLES["Qwen-Image"].calls == 2


def test_the_nearest_ratio_at_a_half_is_that_of_the_sources_arithmetic():
    # Step 49 of 99 lies between entries 13 and 14 of 28; in doubles 49 * (27 / 98) is just below.
    assert np.round(49 * (27 / 98)) == 13
    table = replace(SAME, ratios=(1.0,) * 28, retention=0, max_cached=None, always_full=(13,))
    assert 49 in magnitude_schedule(table, 99, 0.1).full_steps


def test_another_number_of_steps_takes_the_nearest_ratio():
    # Of 5 steps the entries 0, 2, 4, 6, 8 of nine; those between are enormous.
    table = Magnitudes((1.0, 9, 1.0, 9, 1.0, 9, 1.0, 9, 1.0))
    assert magnitude_schedule(table, 5, 0.1).bits == "01111"
    assert magnitude_schedule(table, 1, 0.1).bits == "0"


def test_entries_that_are_never_cached_are_full_and_start_anew():
    table = replace(SAME, always_full=(4,))
    assert magnitude_schedule(table, 10, 0.1).bits == "0111011111"


@pytest.mark.parametrize("table", [*TABLES.values(), RISING, SAME], ids=[*TABLES, "rising", "same"])
def test_extreme_thresholds_cache_nothing_or_whatever_may_be(table):
    assert magnitude_schedule(table, 28, 0).num_cached == 0
    free = replace(table, max_cached=None, retention=0)
    everything = magnitude_schedule(free, 28, math.inf)
    assert everything.full_steps == (0, *table.always_full)


@pytest.mark.parametrize("ratios", [(), (1.0, math.nan), (math.inf,)])
def test_other_tables_are_refused(ratios):
    with pytest.raises(ValueError, match="ratios of magnitudes are finite numbers"):
        Magnitudes(ratios)


@pytest.mark.parametrize("retention", [-0.1, 1.1, math.nan])
def test_other_shares_are_refused(retention):
    with pytest.raises(ValueError, match="share of first full steps is 0 to 1"):
        replace(SAME, retention=retention)
