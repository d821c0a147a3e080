"""Text on the threshold of *Calibrate Ratio*."""

from gph_core.calibration.threshold import FoundThreshold
from gph_core.reports.calibration_report import threshold_text


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
