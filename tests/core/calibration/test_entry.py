"""What a calibration holds: thresholds by target and settings, runs by example."""

import pytest
import torch

from gph_core.calibration import file
from gph_core.calibration.outcome import Outcome
from gph_core.calibration.samples import Measured
from gph_core.calibration.threshold import FoundThreshold

from ...support.calibration_entries import FOUND, SETTINGS, calibration, full_entry


def test_a_method_is_named_without_a_slash():
    with pytest.raises(ValueError, match="'a/b' cannot name a method"):
        calibration("a/b")


def test_thresholds_are_kept_by_target_and_settings():
    other = SETTINGS | {"forced": (0, 1, 2)}
    entry = calibration().with_threshold(SETTINGS, FOUND)
    entry = entry.with_threshold(other, FoundThreshold(2, 0.9, 0.8, 1.0, (2,), 1, ""))
    entry = entry.with_threshold(SETTINGS, FoundThreshold(3, 0.6, 0.5, 0.7, (3,), 1, ""))
    entry = entry.with_threshold(SETTINGS, FoundThreshold(3, 0.7, 0.5, 0.8, (3,), 1, ""))
    assert entry.threshold(SETTINGS, 2) == 0.3
    assert entry.threshold(SETTINGS, 3) == 0.7
    assert entry.threshold(other, 2) == 0.9
    assert len(entry.thresholds) == 3
    # 1, 2, 2 and 3 steps: a mean of 2, a variance of 1/2.
    assert entry.thresholds[0] == {
        "settings": {"forced": [0, 2], "policy": "reuse", "full steps": 3},
        "target": 2, "threshold": 0.3,
        "mean": 2.0, "spread": pytest.approx(0.5**0.5), "exact": 0.5,
        "counts": {"1": 1, "2": 2, "3": 1}, "num_examples": 4, "note": "",
    }  # fmt: skip


def test_a_threshold_that_is_not_there_is_named_with_those_that_are(tmp_path):
    entry = calibration("SeaCache")
    with pytest.raises(
        ValueError,
        match=r"^SeaCache has no threshold for 2 cached steps \(3 full\) with reuse; the "
        r"calibration has: none\. Run Calibrate Ratio for this method, number and policy, or",
    ):
        entry.threshold(SETTINGS, 2)
    for policy, full in (("reuse", 7), ("two-anchor", 9), ("reuse", 5)):
        settings = SETTINGS | {"policy": policy, "full steps": full}
        entry = entry.with_threshold(settings, FOUND)
    file.save(tmp_path / "mine.safetensors", entry)
    with pytest.raises(
        ValueError, match=r"mine\.safetensors has: 5, 7 full with reuse; 9 full with two-anchor\."
    ):
        file.load(tmp_path / "mine.safetensors", "SeaCache").threshold(SETTINGS, 2)


def test_a_threshold_of_one_form_is_not_that_of_another():
    form = SETTINGS | {"form": "as published"}
    entry = calibration("TeaCache").with_threshold(SETTINGS, FOUND)
    with pytest.raises(
        ValueError, match=r"\(3 full\) with reuse \(as published\); .* has: 3 full with reuse\. "
    ):
        entry.threshold(form, 2)
    entry = entry.with_threshold(form, FoundThreshold(2, 0.9, 0.8, 1.0, (2,), 1, ""))
    assert (entry.threshold(SETTINGS, 2), entry.threshold(form, 2)) == (0.3, 0.9)


def test_new_values_drop_the_thresholds_of_the_old_ones_and_keep_the_samples():
    entry = full_entry().with_values(Measured({"coefficients": torch.zeros(5)}, {}))
    assert (entry.thresholds, entry.runs) == ((), ())
    assert list(entry.samples) == ["a cat/7", "values"]


def test_runs_follow_their_examples_to_other_numbers():
    entry = calibration().with_run(SETTINGS, "b", Outcome(2, 0.1, 0.2))
    entry = entry.with_run(SETTINGS, "gone", Outcome(3, 0.1, 0.2))
    assert entry.outcomes(SETTINGS, ["a", "b"]) == [(1, Outcome(2, 0.1, 0.2))]
