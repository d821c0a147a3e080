"""Calibration files: what is kept, and what is refused."""

import os

import pytest
import torch
from safetensors.torch import save_file

from gph_core.calibration import file
from gph_core.calibration.entry import Calibration

from ...support.calibration_entries import (
    CONDITIONS,
    FOUND,
    SETTINGS,
    assert_same,
    calibration,
    full_entry,
)


def test_what_is_saved_is_read_again(tmp_path):
    path = tmp_path / "new folder" / "flux.safetensors"
    entry = full_entry()
    file.save(path, entry)
    assert_same(file.load(path, "TeaCache"), entry)
    assert os.listdir(path.parent) == ["flux.safetensors"]


def test_methods_share_a_file_and_are_replaced_one_by_one(tmp_path):
    path = tmp_path / "flux.safetensors"
    file.save(path, full_entry("TeaCache"))
    file.save(path, calibration("SeaCache").with_threshold(SETTINGS, FOUND))
    file.save(path, full_entry("SenCache"))
    file.save(path, calibration("TeaCache", values={"coefficients": torch.zeros(5)}))
    entries = file.load_all(path)
    assert set(entries) == {"TeaCache", "SeaCache", "SenCache"}
    assert entries["TeaCache"].values["coefficients"].tolist() == [0] * 5
    assert entries["TeaCache"].samples == {}
    assert entries["SeaCache"].values == {}
    assert_same(entries["SenCache"], full_entry("SenCache"))
    with pytest.raises(ValueError, match=r"no calibration of DiCache \(it has: TeaCache, SeaCa"):
        file.load(path, "DiCache")


def test_several_entries_are_saved_at_once_and_found_by_their_conditions(tmp_path):
    path = tmp_path / "some.safetensors"
    assert file.load_for(path, CONDITIONS) == {}
    file.save(path, full_entry("TeaCache"), full_entry("SenCache"))
    found = file.load_for(path, CONDITIONS)
    assert list(found) == ["TeaCache", "SenCache"]
    assert_same(found["SenCache"], full_entry("SenCache"))
    with pytest.raises(ValueError, match=r"holds calibrations for the cfg 1\.0, this one is for 3"):
        file.load_for(path, CONDITIONS | {"cfg": 3.0})


def test_a_file_takes_calibrations_of_its_own_conditions_only(tmp_path):
    path = tmp_path / "flux.safetensors"
    file.save(path, full_entry())
    message = "flux.safetensors holds calibrations for the cfg 1.0, this one is for 2.0; choose an"
    with pytest.raises(ValueError, match=message):
        file.save(path, Calibration("SeaCache", CONDITIONS | {"cfg": 2.0}))
    assert list(file.load_all(path)) == ["TeaCache"]


def test_tensors_that_share_memory_are_kept(tmp_path):
    table = torch.arange(6.0).reshape(2, 3)
    file.save(tmp_path / "f", calibration(values={"all": table.T, "row": table[1]}))
    values = file.load(tmp_path / "f", "TeaCache").values
    assert values["all"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert values["row"].tolist() == [3, 4, 5]


OLD = "golden-path-calibration-1"  # without a checksum, so that what is in it is looked at


def other_format(path):
    save_file({"weights": torch.ones(2)}, path, {"format": "golden-path-causal-linear-1"})


def no_metadata(path):
    save_file({"weights": torch.ones(2)}, path)


def cut_short(path):
    file.save(path, full_entry())
    path.write_bytes(path.read_bytes()[:-1])


def without_entries(path):
    save_file({}, path, {"format": OLD, "conditions": "{}"})


def missing_tensor(path):
    fields = '{"a": {"tensors": ["x"], "numbers": {}, "samples": {}, "report": {}, '
    fields += '"thresholds": [], "runs": []}}'
    save_file({}, path, {"format": OLD, "conditions": "{}", "entries": fields})


def broken_json(path):
    save_file({}, path, {"format": OLD, "conditions": "{", "entries": "{}"})


def not_a_table(path):
    save_file({}, path, {"format": OLD, "conditions": "{}", "entries": "[]"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b""), "cannot be read as a safetensors file"),
        (lambda path: path.write_text("pickled"), "cannot be read as a safetensors file"),
        (lambda path: None, "cannot be read as a safetensors file"),
        (lambda path: path.mkdir(), "cannot be read as a safetensors file"),
        (cut_short, "cannot be read as a safetensors file"),
        (other_format, "is not a calibration file of this version"),
        (no_metadata, "is not a calibration file of this version"),
        (without_entries, "is a damaged calibration file"),
        (missing_tensor, "is a damaged calibration file"),
        (broken_json, "is a damaged calibration file"),
        (not_a_table, "is a damaged calibration file"),
    ],
)
def test_a_broken_or_foreign_file_is_named(tmp_path, make, message):
    path = tmp_path / "flux.safetensors"
    make(path)
    with pytest.raises(ValueError, match=f"flux.safetensors {message}"):
        file.load_all(path)


def test_a_broken_file_is_not_overwritten(tmp_path):
    path = tmp_path / "flux.safetensors"
    path.write_text("something else")
    with pytest.raises(ValueError, match=r"flux.safetensors cannot be read"):
        file.save(path, calibration())
    assert path.read_text() == "something else"
