import math

import pytest

from gph_core.quality.objective import OBJECTIVES, PSNR, PSNR_OF_EQUAL, standardized


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


def test_the_mean_over_examples_is_the_objective_of_the_mean_metrics():
    joint = standardized(PROBE)
    mean = (joint.value(PROBE[0][0]) + joint.value(PROBE[0][1])) / 2
    assert mean == pytest.approx(joint.value({"psnr": 10.0, "lpips": 0.2}))


def test_equal_images_do_not_make_the_statistics_infinite():
    joint = standardized([[{"psnr": math.inf, "lpips": 0.0}], [{"psnr": 50.0, "lpips": 0.1}]])
    # 100 and 50 dB: mean 75, deviation 50 / sqrt(2).
    assert joint.value({"psnr": 75.0, "lpips": 0.05}) == pytest.approx(0, abs=1e-12)


def test_a_metric_that_does_not_vary_cannot_be_standardized():
    probe = [[{"psnr": 10.0, "lpips": 0.2}], [{"psnr": 12.0, "lpips": 0.2}]]
    with pytest.raises(ValueError, match="all 2 schedules of the probe have the same lpips"):
        standardized(probe)
