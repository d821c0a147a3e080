import json

import pytest

from gph_core.run.record_file import RecordedRun, append, begin, read

from .test_record import record

CONDITIONS = {"model": "abc", "sampler": ("euler", 1)}


def run(name):
    return RecordedRun(f"7 {name}", "größere Kreise", 7, record(origin=name))


FIRST, SECOND, THIRD = map(run, ("first", "second", "third"))


@pytest.fixture
def path(tmp_path):
    """A recording of two runs."""
    found = tmp_path / "mine" / "runs.jsonl"
    assert begin(found, CONDITIONS) == []
    append(found, FIRST)
    append(found, SECOND)
    return found


def test_runs_survive_a_file_in_their_order(path):
    assert read(path) == [FIRST, SECOND]
    assert begin(path, CONDITIONS) == [FIRST, SECOND]
    append(path, THIRD)
    assert read(path) == [FIRST, SECOND, THIRD]
    assert path.read_bytes().count(b"\n") == 4


def test_a_whole_last_line_without_its_end_is_kept(path, caplog):
    path.write_bytes(path.read_bytes()[:-1])
    assert begin(path, CONDITIONS) == [FIRST, SECOND]
    append(path, THIRD)
    assert read(path) == [FIRST, SECOND, THIRD]
    assert not caplog.messages


def test_a_file_whose_header_was_cut_short_begins_anew(path):
    path.write_bytes(path.read_bytes()[:10])
    assert begin(path, CONDITIONS) == []
    append(path, FIRST)
    assert read(path) == [FIRST]


def test_a_recording_of_other_conditions_is_refused_and_stays_as_it_is(path):
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match="was made with the sampler euler, now it is heun; choose another name"
    ):
        begin(path, {"model": "abc", "sampler": ("heun", 1)})
    assert path.read_bytes() == before


@pytest.mark.parametrize("broken", ["{", "5", '{"format": 1}', '{"record": {"format": 2}}', "[]"])
def test_another_line_that_is_no_run_is_named(path, broken):
    header, first, second = path.read_text("utf-8").splitlines()
    path.write_text(f"{header}\n{first}\n{broken}\n{second}\n", "utf-8")
    with pytest.raises(ValueError, match=r"^line 3 of mine/runs\.jsonl is no run: "):
        read(path)


@pytest.mark.parametrize("text", ["", "{}\n", "[]\n", json.dumps({"format": "other"}) + "\n"])
def test_another_file_is_no_recording(tmp_path, text):
    path = tmp_path / "runs.jsonl"
    path.write_text(text)
    name = f"{tmp_path.name}/runs.jsonl"
    with pytest.raises(ValueError, match=rf"{name} is no recording of this pack and version"):
        read(path)


def test_a_run_that_was_cut_short_has_no_schedule():
    assert record().realized == record(full_steps=(0, 1, 2)).realized
    with pytest.raises(ValueError, match="the run did 4 of its 5 steps, so it has no schedule"):
        _ = record(cached_steps=(3,)).realized
