"""Results say what they depend on, and rows of two kinds do not stand in one file."""

import pytest
import torch

import benchmarks
from benchmarks.lab import results
from benchmarks.lab.subjects import weights_of

MODEL = "demo model"


@pytest.fixture
def on_gpu(monkeypatch):
    monkeypatch.setattr(benchmarks, "ON_GPU", True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")


def test_the_conditions_name_versions_and_weights(tmp_path):
    file = tmp_path / "found.json"
    results.write(file, {"model": MODEL}, rows=[{"a": 1}])
    assert results.kept(file) == {"rows": [{"a": 1}]}
    assert f'"weights": "{weights_of(MODEL)}"' in file.read_text("utf-8")
    assert "device" not in file.read_text("utf-8")


def test_on_a_gpu_rows_of_the_cpu_are_refused(tmp_path, request):
    file = tmp_path / "found.json"
    results.write(file, {"model": MODEL}, rows=[])
    request.getfixturevalue("on_gpu")
    with pytest.raises(ValueError, match="measured with device None, this is a GPU"):
        results.kept(file)


def test_rows_of_the_same_gpu_stay(tmp_path, on_gpu):
    file = tmp_path / "found.json"
    results.write(file, {"model": MODEL}, rows=[{"a": 1}])
    assert results.kept(file) == {"rows": [{"a": 1}]}
