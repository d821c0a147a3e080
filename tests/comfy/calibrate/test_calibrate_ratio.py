"""Calibrate Ratio finds thresholds at which as many steps are cached as wanted."""

import math
import statistics

import pytest
from golden_path_pack.gph_core.methods.table import ADAPTIVE, ALL
from golden_path_pack.nodes.cache import adaptive
from golden_path_pack.nodes.calibrate.calibrate_ratio import CalibrateRatio
from golden_path_pack.nodes.library import calibrations

from ...support.comfy import calibrate_nodes
from ...support.comfy.calibrate_nodes import FULL, STEPS, calibrated, found, inputs, realised
from ...support.selection import later

pytestmark = pytest.mark.usefixtures("in_a_run")

runs = calibrate_nodes.runs  # a fixture


DEFAULT = ("EasyCache",)


# How far counts of other prompts are off is measured by `bench methods --check`.
@pytest.mark.parametrize(
    ("model", "method"),
    [
        *(("FLUX dev", method) for method in DEFAULT),
        ("Wan 2.1 1.3B", "TeaCache"),
        *later(*(("FLUX dev", method) for method in ADAPTIVE if method not in DEFAULT)),
    ],
)
def test_adaptive_cache_with_the_file_caches_as_many_steps_as_wanted(model, method, runs):
    given = inputs(model, count=2)
    if ALL[method].needs:
        calibrated(ALL[method].name, **given)
    runs.clear()
    threshold, name, text = found(method, **given)
    row = ALL[method]
    is_decided = row.name == "MagCache" or (row.name == "TeaCache" and model != "FLUX dev")
    assert bool(runs) != is_decided  # those that decide before sample nothing
    counts = realised(method, given)
    assert name == "mine"
    assert math.isfinite(threshold)
    assert statistics.fmean(counts) == pytest.approx(STEPS - FULL, abs=0.5)
    assert f"wanted {STEPS - FULL}, mean {statistics.fmean(counts):.2f}" in text
    entry = calibrations.load("mine", row.name)
    assert [t["threshold"] for t in entry.thresholds] == [threshold]


def test_a_speed_is_found_for_adaptive_cache_with_the_same_speed():
    given = inputs(count=1, steps=14)
    calibrated("MagCache", **given)
    # Of 14 steps Quality leaves seven full, and Fast four.
    _, text = CalibrateRatio.execute(
        **given, method="MagCache", speed="Quality", calibration="mine"
    ).result
    assert realised("MagCache", given, "Quality") == [7]
    with pytest.raises(ValueError, match="no threshold for 10 cached steps"):
        realised("MagCache", given, "Fast")
    plan = adaptive.plan_of("MagCache", "Quality", 0.0, "mine")
    assert plan.needs_threshold
    (kept,) = calibrations.load("mine", "MagCache").thresholds
    assert f"threshold {kept['threshold']:.5g}; to use it, choose the same" in text


def test_a_number_of_full_steps_is_at_least_two():
    with pytest.raises(
        ValueError, match=r"full_steps must be a number from 2 to 1000; found .* 1$"
    ):
        found("SeaCache", full=1, **inputs(count=1))


@pytest.mark.long
def test_a_workflow_with_sound_finds_its_threshold_under_the_same_conditions():
    given = inputs("LTX-2", count=1)
    found("EasyCache", **given)
    assert statistics.fmean(realised("EasyCache", given)) == pytest.approx(STEPS - FULL, abs=0.5)
