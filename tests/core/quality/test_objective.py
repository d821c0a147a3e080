import math

import pytest

from gph_core.quality.objective import (
    CAPPED,
    FOR_SEARCHES,
    HARDLY,
    JOINT,
    OBJECTIVES,
    PSNR,
    PSNR_OF_EQUAL,
    metrics_of,
    standardized,
)


@pytest.mark.parametrize(
    ("name", "metrics", "value"),
    [
        ("PSNR", {"psnr": 21.5, "lpips": 0.3}, 21.5),
        ("SSIM", {"ssim": 0.9}, 0.9),
        ("LPIPS", {"psnr": 21.5, "lpips": 0.3}, -0.3),
        ("latent MSE", {"latent_mse": 0.02}, -0.02),
        ("PSNR Δt", {"psnr": 21.5, "frame_psnr": 35.5}, 35.5),
    ],
)
def test_higher_is_better_in_every_objective(name, metrics, value):
    assert OBJECTIVES[name].value(metrics) == value
    assert OBJECTIVES[name].name == name


@pytest.mark.parametrize(
    ("name", "psnr", "value"),
    [
        (CAPPED, 39.5, 39.5),
        # A hundredth of what is beyond 40 dB; an equal image counts as 100 dB.
        (CAPPED, 60.0, 40.2),
        (CAPPED, math.inf, 40.6),
        # 100 % from 33 dB on, and a ten thousandth of a percent for each dB of that.
        (HARDLY, 32.9, 0.00329),
        (HARDLY, 33.0, 100.0033),
        (HARDLY, 60.0, 100.00402),
        (HARDLY, math.inf, 100.00406),
    ],
)
def test_what_nobody_sees_of_psnr_is_worth_hardly_anything(name, psnr, value):
    assert FOR_SEARCHES[name].value({"psnr": psnr}) == pytest.approx(value, abs=1e-12)
    assert metrics_of(name) == ("psnr",)


def mean(name, *values):
    return sum(FOR_SEARCHES[name].value({"psnr": value}) for value in values) / len(values)


def test_good_images_do_not_make_up_for_a_bad_one():
    one_bad, even = (60.0, 60.0, 20.0), (40.0, 40.0, 30.0)  # means 46.7 and 36.7 dB
    assert mean("PSNR", *one_bad) > mean("PSNR", *even)
    assert mean(CAPPED, *one_bad) == pytest.approx(100.4 / 3)
    assert mean(CAPPED, *even) == pytest.approx(110 / 3)


def test_more_examples_hardly_visible_are_better_and_of_equal_shares_the_higher_psnr():
    assert mean(HARDLY, 33.0, 33.0, 1.0) > mean(HARDLY, 60.0, 32.9, 32.9)
    assert mean(HARDLY, 33.0, 29.0) > mean(HARDLY, 34.0, 27.0)


@pytest.mark.parametrize("name", [CAPPED, HARDLY])
def test_a_search_sees_where_to_go_on_beyond_what_people_see(name):
    assert mean(name, 60.0, 50.0) > mean(name, 55.0, 50.0)


def test_no_psnr_outweighs_one_example_of_a_thousand():
    few, more = [100.0] * 499 + [32.9] * 501, [33.0] * 500 + [0.0] * 500
    assert mean(HARDLY, *more) > mean(HARDLY, *few)


def test_values_are_written_as_people_know_them():
    assert OBJECTIVES["PSNR"].text(31.006) == "31.01 dB"
    assert FOR_SEARCHES[CAPPED].text(31.006) == "31.01 dB"
    assert FOR_SEARCHES[HARDLY].text(62.5035) == "62.5 %"
    assert OBJECTIVES["LPIPS"].text(-0.05) == "0.0500"
    assert OBJECTIVES["LPIPS"].text(-0.0) == "0.0000"
    assert standardized(PROBE).text(0.5) == "+0.50 σ"


def test_analyses_compare_by_single_metrics_as_their_margins_are_in_units_of_these():
    assert not {CAPPED, HARDLY, JOINT} & OBJECTIVES.keys()


def test_equal_images_count_as_a_hundred_decibels():
    assert PSNR.value({"psnr": math.inf}) == PSNR_OF_EQUAL == 100
    assert PSNR.value({"psnr": 99.0}) == 99.0
    assert OBJECTIVES["PSNR Δt"].value({"frame_psnr": math.inf}) == PSNR_OF_EQUAL


def test_a_metric_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="lpips is not a number"):
        OBJECTIVES["LPIPS"].value({"psnr": 1.0, "lpips": math.nan})


# Averages 10 and 14 dB, 0.2 and 0.4: means 12 and 0.3, sample deviations 2 sqrt(2) and 0.1 sqrt(2).
PROBE = [
    [{"psnr": 9.0, "lpips": 0.1}, {"psnr": 11.0, "lpips": 0.3}],
    [{"psnr": 15.0, "lpips": 0.4}, {"psnr": 13.0, "lpips": 0.4}],
]


def test_the_joint_objective_standardizes_by_the_probe():
    joint = standardized(PROBE)
    # (14 - 12) / 2.828 - (0.2 - 0.3) / 0.1414
    assert joint.value({"psnr": 14.0, "lpips": 0.2}) == pytest.approx(math.sqrt(2))
    assert joint.value({"psnr": 12.0, "lpips": 0.3}) == pytest.approx(0, abs=1e-12)
    assert joint.metrics == ("psnr", "lpips")


def test_the_mean_of_a_sum_of_metrics_is_the_sum_of_their_means():
    joint = standardized(PROBE)
    of_both = (joint.value(PROBE[0][0]) + joint.value(PROBE[0][1])) / 2
    assert of_both == pytest.approx(joint.value({"psnr": 10.0, "lpips": 0.2}))


def test_equal_images_do_not_make_the_statistics_infinite():
    joint = standardized([[{"psnr": math.inf, "lpips": 0.0}], [{"psnr": 50.0, "lpips": 0.1}]])
    # 100 and 50 dB: mean 75, deviation 50 / sqrt(2).
    assert joint.value({"psnr": 75.0, "lpips": 0.05}) == pytest.approx(0, abs=1e-12)


def test_a_metric_that_does_not_vary_cannot_be_standardized():
    probe = [[{"psnr": 10.0, "lpips": 0.2}], [{"psnr": 12.0, "lpips": 0.2}]]
    with pytest.raises(ValueError, match="all 2 schedules of the probe have the same lpips"):
        standardized(probe)
