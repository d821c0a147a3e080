"""Texts on the fits of a calibration and on a threshold."""

from gph_core.calibration.entry import Calibration
from gph_core.calibration.threshold import FoundThreshold
from gph_core.reports.calibration_report import described, threshold_text


def summary(method, **facts):
    return described(Calibration(method, {}, report=facts))


def test_a_fit_that_explains_nothing_says_so_and_one_thing_is_one():
    facts = {"num_fit": 1, "num_held_out": 1, "mae": 0.25}
    assert summary("TeaCache", r2=-0.5, **facts) == (
        "polynomial fitted to 1 example; on 1 other R² -0.50, mean absolute error "
        "0.2500; worse than always predicting the mean, so use more examples"
    )
    for r2, words in ((0.5, "R² 0.50, "), (0.0, "R² 0.00, "), (None, "")):
        assert summary("TeaCache", r2=r2, **facts | {"num_held_out": 2}).endswith(
            f"on 2 others {words}mean absolute error 0.2500"
        )
    assert summary("DPCache", num_examples=1) == "1 example"
    assert summary("SenCache", num_examples=1, quantile=0.9) == "0.9 quantile of 1 example"
    found = {"schedule": "0-2,4,6/7", "latent_mse": 0.5, "scored": 1, "examples": 1}
    assert summary("BudCache", **{"5": found}).endswith("on 1 example, best of 1 schedule")


def test_the_report_counts_the_examples_by_cached_steps():
    found = FoundThreshold(6, 0.25, 0.2, 0.3, (6, 5, 6, 7), 9, "")
    assert threshold_text(found, 10, 4, ["a note"]).splitlines() == [
        "threshold 0.25; to use it, choose the same speed in Adaptive Cache",
        "cached steps of 10: wanted 6, mean 6.00, spread 0.71, exactly 6 in 50%",
        "examples by cached steps: 5: 1, 6: 2, 7: 1",
        "9 runs",
        "a note",
    ]


def test_a_method_that_decides_before_the_run_samples_nothing():
    found = FoundThreshold(6, 0.25, 0.2, 0.3, (5,), 1, "no threshold gives 6")
    assert threshold_text(found, 10, 4, []).splitlines()[2:] == [
        "the method decides before the run, so all runs are the same and nothing was sampled",
        "no threshold gives 6",
    ]
