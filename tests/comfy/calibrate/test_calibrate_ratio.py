"""Calibrate Ratio finds thresholds at which as many steps are cached as wanted."""

import math
import statistics

import pytest
from golden_path_pack.gph_core.methods.table import ADAPTIVE, ALL
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.nodes.cache import adaptive
from golden_path_pack.nodes.calibrate.calibrate_ratio import CalibrateRatio
from golden_path_pack.nodes.library import calibrations

from ...support.comfy import calibrate_nodes
from ...support.comfy.calibrate_nodes import FULL, STEPS, calibrated, found, inputs, realised
from ...support.selection import later

pytestmark = pytest.mark.usefixtures("in_a_run")

runs = calibrate_nodes.runs  # a fixture


# One for each way in which a rule decides.
DEFAULT = ("SeaCache", "DiCache", "SenCache", "MagCache", "EasyCache")


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
    given = inputs(model)
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
    assert statistics.fmean(counts) == pytest.approx(STEPS - FULL, abs=0.34)
    assert f"wanted {STEPS - FULL}, mean {statistics.fmean(counts):.2f}" in text
    entry = calibrations.load("mine", row.name)
    assert [t["threshold"] for t in entry.thresholds] == [threshold]


@pytest.mark.long
@pytest.mark.parametrize("variant", ["TeaCache (as published)", "DiCache (delta minus)"])
def test_a_variant_takes_the_fit_of_its_row_and_has_thresholds_of_its_own(variant):
    given, row = inputs(count=2), ALL[variant]
    if row.needs:
        calibrated(row.name, **given)
    found(row.name, **given)
    with pytest.raises(
        ValueError, match=rf"no threshold for 5 cached .* \({row.form}\); .* has: 7 "
    ):
        realised(variant, given)
    found(variant, **given)
    kept = calibrations.load("mine", row.name).thresholds
    assert [threshold["settings"].get("form", "") for threshold in kept] == ["", row.form]
    for name in (row.name, variant):
        assert statistics.fmean(realised(name, given)) == pytest.approx(STEPS - FULL, abs=0.5)


def test_a_speed_is_found_for_adaptive_cache_with_the_same_speed():
    given = inputs(count=2, steps=14)
    # Quality leaves 21 of 50 steps full, 5.88 of 14; Fast never less than 4.
    _, text = CalibrateRatio.execute(
        **given, method="DiCache", speed="Quality", calibration="mine"
    ).result
    assert statistics.fmean(realised("DiCache", given, "Quality")) == pytest.approx(8, abs=0.5)
    with pytest.raises(ValueError, match="no threshold for 10 cached steps"):
        realised("DiCache", given, "Fast")
    plan = adaptive.plan_of("DiCache", "Quality", 0.0, "mine")
    assert plan.needs_threshold
    (kept,) = calibrations.load("mine", "DiCache").thresholds
    assert f"threshold {kept['threshold']:.5g}; to use it, choose the same" in text


@pytest.mark.long
def test_another_policy_has_another_threshold():
    given = inputs(count=2)
    found("SeaCache", **given)
    found("SeaCache", policy=TwoAnchor(), **given)
    settings = [t["settings"] for t in calibrations.load("mine", "SeaCache").thresholds]
    assert [s["policy"] for s in settings] == ["residual reuse", str(TwoAnchor())]


def test_a_method_that_lacks_its_fit_says_so_before_anything_is_sampled(runs):
    with pytest.raises(ValueError, match=r"SenCache needs sensitivities .* run Calibrate"):
        found("SenCache", **inputs(count=2))
    assert runs == []
    assert not calibrations.FILES.path_of("mine").exists()


def test_a_number_out_of_reach_is_an_error_and_one_beyond_the_rule_a_note():
    given = inputs(count=2)
    with pytest.raises(
        ValueError, match=r"full_steps must be a number from 2 to 1000; found .* 1$"
    ):
        found("SeaCache", full=1, **given)
    calibrated("SenCache", **given)
    _, _, text = found("SenCache", full=5, **given)
    assert "even an infinite threshold caches only" in text


def test_a_workflow_with_sound_finds_its_threshold_under_the_same_conditions():
    given = inputs("LTX-2", count=2)
    found("EasyCache", **given)
    assert statistics.fmean(realised("EasyCache", given)) == pytest.approx(STEPS - FULL, abs=0.5)
