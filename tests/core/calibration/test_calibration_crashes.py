"""``file``: what is lost when a run is cancelled, killed or meets another process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gph_core.calibration import file

from ...support.calibration_entries import assert_same, calibration, full_entry

ROOT = Path(__file__).parents[3]


def test_a_cancelled_sampling_goes_on_with_what_is_missing(tmp_path):
    path = tmp_path / "flux.safetensors"
    entry = calibration()
    for number in range(2):
        entry = entry.with_sample(f"p{number}", {"x": torch.tensor([float(number)])})
        file.save(path, entry)
    entry = file.load(path, "TeaCache")
    assert entry.missing(["p1", "p2", "p0", "p3"]) == ["p2", "p3"]
    assert entry.samples["p1"]["x"].tolist() == [1]


def test_processes_that_save_at_once_write_files_of_their_own(tmp_path, monkeypatch):
    path, replace, seen = tmp_path / "flux.safetensors", Path.replace, []

    def other_saves_first(self, target):
        if not seen:
            seen.append(self)
            file.save(path, calibration("SeaCache"))  # as another process would, at this moment
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", other_saves_first)
        file.save(path, full_entry("TeaCache"))
    assert list(file.load_all(path)) == ["TeaCache"]  # that of the one that ended later
    assert_same(file.load(path, "TeaCache"), full_entry())
    assert os.listdir(tmp_path) == ["flux.safetensors"]


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from gph_core.calibration import file
from gph_core.calibration.entry import Calibration

path, entry = Path(sys.argv[1]), Calibration("TeaCache", {"model": "flux"})
for number in range(9):
    if number == 4:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
    entry = entry.with_sample(str(number), {"x": torch.full((1000,), float(number))})
    file.save(path, entry)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_killed_calibration_loses_only_the_example_under_way(tmp_path):
    path = tmp_path / "flux.safetensors"
    done = subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    entry = file.load(path, "TeaCache")
    assert list(entry.samples) == ["0", "1", "2", "3"]
    assert entry.samples["3"]["x"].tolist() == [3.0] * 1000
