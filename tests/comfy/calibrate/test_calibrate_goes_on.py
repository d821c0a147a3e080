"""A calibration that was cancelled goes on from its file, and better ones are kept."""

import comfy.model_management
import pytest
import torch
from golden_path_pack.gph_core.calibration import file
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.nodes.calibrate.calibrate import Calibrate
from golden_path_pack.nodes.library import calibrations
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.schema.types import COUNT

from ...support.comfy import calibrate_nodes
from ...support.comfy.calibrate_nodes import calibrated, found, inputs

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("in_a_run")]

runs = calibrate_nodes.runs  # a fixture


def interrupt(monkeypatch, runs, after):
    """Cancel within the run after so many, at its third call of the model or so."""
    asked = []

    def ask():
        asked.extend([1] * (len(runs) > after))
        if len(asked) == 5:
            raise comfy.model_management.InterruptProcessingException

    monkeypatch.setattr(comfy.model_management, "throw_exception_if_processing_interrupted", ask)


def test_a_cancelled_calibration_goes_on_with_the_example_that_was_under_way(runs, monkeypatch):
    given = inputs()
    with monkeypatch.context() as patch:
        interrupt(patch, runs, after=2)
        with pytest.raises(comfy.model_management.InterruptProcessingException):
            calibrated(**given)
    assert len(runs) == 3
    runs.clear()
    calibrated(**given)
    assert len(runs) == 1
    calibrated(name="whole", **given)
    one, other = (file.load_all(calibrations.FILES.path_of(name)) for name in ("mine", "whole"))
    for method, entry in other.items():
        for name, value in entry.values.items():
            same = one[method].values[name]
            assert value.equal(same) if isinstance(value, torch.Tensor) else value == same


def test_a_cancelled_search_for_a_threshold_repeats_no_run(runs, monkeypatch):
    given = inputs()
    expected = found("EasyCache", name="whole", **given)[0]
    whole = len(runs)
    runs.clear()
    with monkeypatch.context() as patch:
        interrupt(patch, runs, after=5)
        with pytest.raises(comfy.model_management.InterruptProcessingException):
            found("EasyCache", **given)
    assert len(runs) == 6
    assert found("EasyCache", **given)[0] == expected
    assert len(runs) == whole + 1  # the one that was under way
    runs.clear()
    changed = calibrations.FILES.changed_at("mine")
    assert found("EasyCache", **given)[0] == expected
    assert runs == []
    assert (
        calibrations.FILES.changed_at("mine") == changed
    )  # nothing is written, nothing runs again


def test_budcache_is_cancelled_and_goes_on(monkeypatch):
    given = inputs(count=2, steps=8)
    count = []
    cached = Sampling.resumed
    monkeypatch.setattr(
        Sampling, "resumed", lambda *args, **kw: count.append(1) or cached(*args, **kw)
    )
    with monkeypatch.context() as patch:
        interrupt(patch, count, after=2)
        with pytest.raises(comfy.model_management.InterruptProcessingException):
            Calibrate.execute(
                **given, method="BudCache", calibration="mine", speed=COUNT, full_steps=5
            )
    assert len(count) == 3
    name, text = Calibrate.execute(
        **given, method="BudCache", calibration="mine", speed=COUNT, full_steps=5
    ).result
    assert name == "mine"
    assert "5 full steps: 0-2," in text
    values = calibrations.load("mine", "BudCache").values
    schedule = ALL["BudCache"].read(values)[5]
    whole = len(count)
    # Other examples have a memory of their own, the same ones go on.
    others = given | {"examples": inputs(count=4, steps=8)["examples"][2:]}
    for examples, num_logs in ((others, 2), (given, 2)):
        calibrated("BudCache", speed=COUNT, full_steps=6, **examples)
        assert len(list(calibrations.FILES.folder.glob("mine BudCache *.sqlite"))) == num_logs
    assert len(count) > whole
    assert schedule.num_full == 5
    assert set(schedule.full_steps) >= {0, 1, 2, 7}


def test_fewer_examples_leave_values_and_thresholds_as_they_are():
    given = inputs(count=3)
    calibrated("SenCache", **given)
    threshold, *_ = found("SenCache", **given)
    changed = calibrations.FILES.changed_at("mine")
    few = given | {"examples": given["examples"][:1]}
    _, text = calibrated("SenCache", **few)
    assert "SenCache: 0.9 quantile of 3 examples" in text
    assert text.endswith(
        "the values also include 2 examples of former calibrations in this file; choose another "
        "name to use only the new ones"
    )
    with pytest.raises(
        ValueError,
        match=r"mine\.safetensors has the threshold of SenCache for 7 full steps from 3 examples, "
        "more than the 1 of this run; use that threshold",
    ):
        found("SenCache", **few)
    assert calibrations.FILES.changed_at("mine") == changed
    assert found("SenCache", **given)[0] == threshold


def test_more_examples_make_values_anew_and_say_that_thresholds_went():
    given = inputs(count=3)
    calibrated("SenCache", **given | {"examples": given["examples"][:2]})
    found("SenCache", **given | {"examples": given["examples"][:2]})
    _, text = calibrated("SenCache", **given)
    assert text.endswith(
        "the values of SenCache have changed, so its thresholds are deleted; run Calibrate Ratio "
        "again"
    )
    assert calibrations.load("mine", "SenCache").thresholds == ()
