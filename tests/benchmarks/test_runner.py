"""What ``dev.py bench`` makes of a benchmark."""

import json
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as runner
from benchmarks.lab import results
from devtools.paths import benchmark_rooms


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    return tmp_path


def benchmark(**more):
    """A benchmark that finds one row."""
    return SimpleNamespace(
        FILE="found.json", measure=lambda options: {"rows": [{"a": 1}], "_course": [2]},
        conditions=lambda options: {"model": "demo model"}, **more,
    )  # fmt: skip


def test_every_benchmark_of_dev_py_has_what_the_runner_asks(folder):
    import importlib

    assert {"cache", "golden-path", "methods", "search", "turbo"} <= set(benchmark_rooms())
    for name, room in benchmark_rooms().items():
        module = importlib.import_module(f"benchmarks.{room}.{name.replace('-', '_')}")
        assert module.FILE.endswith(".json")
        assert callable(module.measure)
        assert callable(module.conditions)


def test_a_missed_bar_is_an_error_only_if_it_is_asked(folder, capsys):
    one = benchmark(misses=lambda figures: ["the bar"] if figures["rows"] else [])
    assert runner.run(one, "", []) == 0
    assert runner.run(one, "", ["--check"]) == 1
    assert "missed bars:\nthe bar" in capsys.readouterr().out
    assert runner.run(benchmark(), "", ["--check"]) == 0
    assert list(folder.iterdir()) == []


def test_what_is_saved_has_its_conditions_and_nothing_private(folder):
    drawn = []
    one = benchmark(draw=lambda figures, file: drawn.append((figures["_course"], file.name)))
    assert runner.run(one, "", ["--save"]) == 0
    saved = json.loads((folder / "found.json").read_text("utf-8"))
    assert saved.pop("conditions")["model"] == "demo model"
    assert saved == {"rows": [{"a": 1}]}
    assert drawn == [([2], "found.png")]


def test_new_figures_take_their_places_among_saved_ones(folder):
    def merged(kept, figures):
        return {"rows": [*kept.get("rows", []), *figures["rows"]]}

    one = benchmark(merged=merged, summary=lambda figures: str(len(figures["rows"])))
    for count in (1, 2):
        runner.run(one, "", ["--save"])
        rows = json.loads((folder / "found.json").read_text("utf-8"))["rows"]
        assert len(rows) == count


def test_results_of_the_video_model_have_a_file_of_their_own(folder):
    def add_options(parser):
        parser.add_argument("--model")

    runner.run(benchmark(add_options=add_options), "", ["--model", "video", "--save"])
    assert [file.name for file in folder.iterdir()] == ["found-video.json"]


def test_a_saved_file_of_other_versions_is_refused_before_anything_is_measured(folder):
    (folder / "found.json").write_text('{"conditions": {"torch": "1.0"}, "rows": []}', "utf-8")
    measured = []
    one = benchmark(merged=lambda kept, figures: figures)
    one.measure = lambda options: measured.append(1) or {"rows": []}
    with pytest.raises(ValueError, match=r"found.json was measured with torch 1.0, this is"):
        runner.run(one, "", ["--save"])
    assert measured == []
