"""Checksums of safetensors files, held against SHA-256 of the bytes on the disk."""

import hashlib
import json
import logging

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from gph_core.calibration import file as calibration_file
from gph_core.files import checksum
from gph_core.files.states_file import States, writing

from ...support.calibration_entries import assert_same, full_entry
from ...support.readers import write_states

STATES = torch.stack([torch.full((2, 5), float(number)) for number in range(3)])


def save_calibration(path):
    calibration_file.save(path, full_entry())


@pytest.mark.parametrize("write", [save_calibration, write_states])
def test_the_number_is_that_of_the_file_with_zeros_in_its_place(tmp_path, write):
    path = tmp_path / "file.safetensors"
    write(path)
    with safe_open(path, "pt") as opened:
        number = opened.metadata()["sha256"]
    content = path.read_bytes()
    assert content.count(number.encode()) == 1
    blank = content.replace(number.encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == number


def old_states(path, **tensors):
    """States as versions before 0.2 wrote them: one tensor without metadata."""
    save_file(tensors or {"states": STATES}, path)


def test_states_of_an_older_version_are_read_with_a_note_in_the_log(tmp_path, caplog):
    for name in ("a", "b"):
        old_states(tmp_path / name)
        with caplog.at_level(logging.WARNING):
            assert torch.cat(list(States(tmp_path / name)), 1).equal(STATES.flatten(1))
    (message,) = caplog.messages
    assert f"{tmp_path.name} has no checksum" in message


@pytest.mark.parametrize(
    "tensors", [{"states": STATES.half()}, {"states": STATES, "b": STATES + 1}, {"b": STATES}]
)
def test_other_tensors_are_no_states(tmp_path, tensors):
    old_states(tmp_path / "run.safetensors", **tensors)
    with pytest.raises(ValueError, match=r"run\.safetensors holds no states of a run"):
        States(tmp_path / "run.safetensors")


def test_an_older_file_of_another_length_is_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    old_states(path)
    path.write_bytes(path.read_bytes() + bytes(4))
    with pytest.raises(ValueError, match=r"run\.safetensors .*its length does not fit"):
        States(path)


def test_a_large_file_is_gone_through_once_while_it_stays_the_same(tmp_path, monkeypatch):
    path, seen = tmp_path / "run.safetensors", []
    check = checksum.check
    monkeypatch.setattr(checksum, "check", lambda *given: seen.append(1) or check(*given))
    write_states(path)
    assert len(list(States(path, 1))) == len(list(States(path, 1))) == 10
    assert len(seen) == 1
    with writing(path, 3) as add:
        for state in torch.ones(3, 2, 6):
            add(state)
    assert States(path).num_coordinates == 12
    assert len(seen) == 2


def old_calibration(path, **changes):
    """A calibration as versions before 0.2 wrote it."""
    fields = {
        "tensors": ["coefficients"], "numbers": {"x_range": [0.1, 0.2]}, "report": {"r2": None},
        "samples": {"a cat/7": ["x"]}, "runs": [],
        "thresholds": [
            {
                "settings": {"full steps": 3, "policy": "reuse"}, "target": 2, "threshold": 0.3,
                "num_examples": 4,
            }
        ],
    }  # fmt: skip
    metadata = {
        "format": "golden-path-calibration-1",
        "conditions": json.dumps({"model": "flux", "cfg": 1.0}),
        "entries": json.dumps({"TeaCache": fields | changes}),
    }
    tensors = {
        "TeaCache/values/coefficients": torch.tensor([1.0, -2.0]),
        "TeaCache/samples/a cat/7/x": torch.ones(2),
    }
    save_file(tensors, path, metadata)


def test_a_calibration_of_an_older_version_is_read_with_a_note_and_renewed(tmp_path, caplog):
    path = tmp_path / "mine.safetensors"
    old_calibration(path)
    with caplog.at_level(logging.WARNING):
        entry = calibration_file.load(path, "TeaCache")
    assert entry.values["coefficients"].tolist() == [1.0, -2.0]
    assert entry.threshold({"full steps": 3, "policy": "reuse"}, 2) == 0.3
    note = entry.check_values({"model": "flux", "cfg": 1.0})
    assert note.endswith("mine.safetensors has no checksum, as an older version of the pack made " +
        "it, so damage to it cannot be seen; calibrate again to renew it")  # fmt: skip
    assert len(caplog.messages) == 1

    more = entry.with_sample("a dog/8", {"x": torch.zeros(2)})
    calibration_file.save(path, more)
    renewed = calibration_file.load(path, "TeaCache")
    assert_same(renewed, more)
    assert renewed.note == ""
    with safe_open(path, "pt") as opened:
        assert opened.metadata()["format"] == "golden-path-calibration-2"
