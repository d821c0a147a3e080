"""Files of calibrations are chosen by their names, and read when they are needed."""

import os

import pytest
from golden_path_pack.gph_core.calibration import file
from golden_path_pack.gph_core.calibration.entry import Calibration
from golden_path_pack.nodes.cache import adaptive
from golden_path_pack.nodes.cache.adaptive import AdaptiveCache
from golden_path_pack.nodes.cache.plan_schedule import PlanSchedule
from golden_path_pack.nodes.calibrate.calibrate import Calibrate
from golden_path_pack.nodes.calibrate.calibrate_ratio import CalibrateRatio
from golden_path_pack.nodes.library import calibrations

from ...support.comfy.calibrate_nodes import calibrated, inputs

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_a_bad_name_is_refused_before_anything_runs():
    for node in (Calibrate, CalibrateRatio):
        assert "contains '/'" in node.validate_inputs("a/b")
        assert "stands for no file" in node.validate_inputs("none")
        assert node.validate_inputs("mine") is True


@pytest.mark.parametrize("name", ["../calibrations/mine", "x" * 300, "a\0b"])
def test_a_calibration_is_sought_in_its_folder_only(name):
    file.save(calibrations.FILES.path_of("mine"), Calibration("SeaCache", {}))
    refused = AdaptiveCache.validate_inputs("SeaCache", "Balanced", name)
    assert "contains" in refused or "1 to 100 characters" in refused


def test_a_file_is_asked_only_for_what_is_needed():
    calibrated("MagCache", **inputs(count=1))
    for method in ("SeaCache", "DiCache"):  # their rule needs nothing
        assert adaptive.plan_of(method, "Threshold", 0.2, "mine").calibration is None
    assert adaptive.plan_of("MagCache", "Threshold", 0.2, "mine").calibration is not None
    for method, speed in (("SenCache", "Threshold"), ("SeaCache", "Fast")):
        with pytest.raises(ValueError, match=f"mine.safetensors holds no calibration of {method}"):
            adaptive.plan_of(method, speed, 0.2, "mine")


@pytest.mark.parametrize("node", [AdaptiveCache, Calibrate, CalibrateRatio, PlanSchedule])
def test_a_linked_file_that_changes_or_goes_is_noticed(node):
    path = calibrations.FILES.path_of("mine")
    file.save(path, Calibration("SeaCache", {}))
    for name in ("mine", None):
        before = node.fingerprint_inputs(calibration=name)
        assert node.fingerprint_inputs(calibration=name) == before
        os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))
        after = node.fingerprint_inputs(calibration=name)
        assert after != before
    path.unlink()
    assert node.fingerprint_inputs(calibration=None) != after
    assert node.fingerprint_inputs(calibration="mine") == node.fingerprint_inputs(
        calibration="none"
    )
