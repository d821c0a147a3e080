"""files/reading: the contract of readers (``support/damages.py``), for what learning keeps.

Both readers go on without a file that they cannot read: that costs a remembered run and those
after it, or an outcome. Here such a file is refused by its name.
"""

import os

import pytest
import torch
from golden_path_pack.nodes.learn import remembered, settings

from ...support.damages import Reader, faults


def write_run(path):
    shape = (2, 4, 2, 2)
    states = torch.arange(3.0).view(3, 1, 1, 1, 1) + torch.zeros(shape)
    conds = {"positive": [{"cross_attn": torch.ones(1, 2), "strength": 0.5, "area": (1, 2)}]}
    run = remembered.Example(
        conds, torch.ones(shape), torch.zeros(shape), None, 7, [list(shape)], states
    )
    assert remembered.Remembered().add(path.parent, run) == ""


def read_run(path):
    found = remembered.Remembered().of(path.parent)
    if not found:
        assert path.is_dir() or not os.path.lexists(path)  # it is in nobody's way any more
        path.touch()
        raise ValueError(f"{path.name} was left out")
    return [(run, run.state(1)) for run in found]


def outcome_of(path):
    return settings.Settings(None, 5, path.parent / "folder", path.stem)


def read_outcome(path):
    found = outcome_of(path).outcome(4)
    if not found:
        raise ValueError(f"{path.name} counts as no outcome")
    return found


READERS = {
    "nodes/learn/remembered.py": Reader(write_run, read_run, True, "0.safetensors"),
    "nodes/learn/settings.py": Reader(
        lambda path: outcome_of(path).save_outcome(4, "it brought nothing"), read_outcome, False,
        "learned, FLUX.json",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_left_out_or_read_as_it_was(tmp_path, monkeypatch, name):
    place = tmp_path / "some"
    place.mkdir()
    monkeypatch.setattr(settings, "learning_folder", lambda: place)
    assert faults(READERS[name], place) == {}


def test_an_outcome_counts_for_no_more_images_than_it_was_learned_from(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "learning_folder", lambda: tmp_path)
    one = outcome_of(tmp_path / "one.json")
    one.save_outcome(4, "it brought nothing")
    assert [one.outcome(wanted) for wanted in (2, 4, 8)] == ["it brought nothing"] * 2 + [""]
    assert outcome_of(tmp_path / "other.json").outcome(2) == ""
