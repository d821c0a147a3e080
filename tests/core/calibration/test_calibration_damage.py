"""``file``: calibrations whose checksum is right and whose content is not."""

import math

import pytest
import torch

from gph_core.calibration import file
from gph_core.calibration.entry import Calibration, fit_of
from gph_core.methods.method import Setting
from gph_core.methods.planned import planned
from gph_core.methods.table import METHODS

from ...support.calibration_entries import CONDITIONS, FOUND, SETTINGS, calibration

DOUBLE = torch.float64
SHAPES = {"L2P": (9, 9), "DPCache": (9, 9, 10), "MeanCache": (4, 9, 10)}
KEYS = {"L2P": "gram", "DPCache": "costs", "MeanCache": "costs"}
CRAFTED = {
    "nothing": lambda shape: torch.zeros(0),
    "one number": lambda shape: torch.zeros(()),
    "another first size": lambda shape: torch.zeros(shape[0] + 1, *shape[1:]),
    "no steps": lambda shape: torch.zeros(0, 0, 1),
    "whole numbers": lambda shape: torch.zeros(shape, dtype=torch.int64),
    "NaN": lambda shape: torch.full(shape, math.nan, dtype=DOUBLE),
    "below 0": lambda shape: -torch.ones(shape, dtype=DOUBLE),
    "null": lambda shape: None,
    "a text": lambda shape: "x",
}


@pytest.mark.parametrize("method", SHAPES)
@pytest.mark.parametrize("crafted", CRAFTED)
def test_a_table_of_another_form_plans_nothing_and_its_file_is_named(method, crafted):
    values = {KEYS[method]: CRAFTED[crafted](SHAPES[method])}
    with pytest.raises(ValueError, match=rf"^f\.st is damaged: its values of {method} cannot be"):
        fit_of(METHODS[method], Calibration(method, {}, values, file="f.st"))


def test_what_l2p_was_not_fitted_to_has_the_form_of_what_it_was_fitted_to():
    values = {"gram": torch.eye(9), "held_out": torch.eye(8)}
    with pytest.raises(ValueError, match=r"'held_out' has the shape 8×8; it needs 9×9\); delete"):
        fit_of(METHODS["L2P"], Calibration("L2P", {}, values))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, DOUBLE])
@pytest.mark.parametrize("method", SHAPES)
def test_a_table_of_any_floating_dtype_makes_a_plan(method, dtype):
    table = torch.eye(9) if method == "L2P" else torch.ones(SHAPES[method])
    entry = Calibration(method, {}, {KEYS[method]: table.to(dtype)})
    fit = fit_of(METHODS[method], entry)
    assert planned(METHODS[method], Setting(9, 6, fit=fit)).schedule.num_full == 6
    with pytest.raises(ValueError, match=f"{method} was measured on 9 steps, this plan is for 20"):
        planned(METHODS[method], Setting(20, 6, fit=fit))


def test_jumps_that_cannot_be_cost_infinitely_much():
    values = {"costs": torch.full((4, 9, 10), math.inf)}
    assert fit_of(METHODS["MeanCache"], Calibration("MeanCache", {}, values)).isinf().all()


def test_products_that_are_infinite_are_refused():
    values = {"gram": torch.full((9, 9), math.inf)}
    with pytest.raises(ValueError, match=r"'gram' holds values that are not finite"):
        fit_of(METHODS["L2P"], Calibration("L2P", {}, values))


def with_threshold(**changes):
    found = calibration().with_threshold(SETTINGS, FOUND).thresholds[0] | changes
    kept = {name: value for name, value in found.items() if value is not ...}
    return calibration(thresholds=[kept])


@pytest.mark.parametrize(
    ("crafted", "reason"),
    [
        (calibration(report={"num_fit": "3"}), "the report, 'num_fit' must be a whole number"),
        (calibration(report={"num_held_out": 1.5}), "'num_held_out' must be a whole number"),
        (calibration(report={"num_fit": -1}), "num_fit must be 0 or more; found -1"),
        (with_threshold(num_examples=...), "has no 'num_examples'"),
        (with_threshold(num_examples=-2), "num_examples must be 0 or more; found -2"),
        (with_threshold(threshold=-1), "threshold must be 0 or more; found -1"),
        (with_threshold(threshold=math.nan), "threshold is no number"),
        (Calibration("TeaCache", {"sigmas": 5}), "'sigmas' must be a list"),
        (Calibration("TeaCache", {"sigmas": ["a"]}), "'sigmas', item 0 must be a number"),
    ],
)
def test_a_file_whose_numbers_are_none_is_named_when_it_is_read(tmp_path, crafted, reason):
    file.save(tmp_path / "mine.safetensors", crafted)
    with pytest.raises(ValueError, match=f"^mine.safetensors is a damaged calibration.*{reason}"):
        file.load_all(tmp_path / "mine.safetensors")


def test_an_infinite_threshold_and_a_huge_one_are_thresholds(tmp_path):
    for value in (0, math.inf, 10**30):
        file.save(tmp_path / "mine", with_threshold(threshold=value))
        assert file.load(tmp_path / "mine", "TeaCache").threshold(SETTINGS, 2) == value


def test_conditions_without_noise_levels_are_read(tmp_path):
    other = {n: value for n, value in CONDITIONS.items() if n != "sigmas"}
    file.save(tmp_path / "mine", Calibration("TeaCache", other))
    assert file.load(tmp_path / "mine", "TeaCache").conditions == other
