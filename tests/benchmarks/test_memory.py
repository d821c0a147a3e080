"""What benchmarks keep, so that they go on."""

from benchmarks.lab.memory import Memory


def test_another_memory_of_the_file_knows_what_was_kept(tmp_path):
    Memory(tmp_path / "new" / "shots.jsonl").keep({"a": 1, "b": [2.5, "0/3"]})
    again = Memory(tmp_path / "new" / "shots.jsonl")
    assert "a" in again
    assert again["b"] == [2.5, "0/3"]
    assert "c" not in again


def test_what_another_process_adds_is_known_after_a_refresh(tmp_path):
    one, other = Memory(tmp_path / "shots.jsonl"), Memory(tmp_path / "shots.jsonl")
    one.keep({"a": 1})
    other.keep({"b": 2})
    assert "b" not in one
    one.refresh()
    assert (one["a"], one["b"]) == (1, 2)


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path):
    file = tmp_path / "shots.jsonl"
    file.write_bytes(b'{"a": 1}\n{"b"')
    memory = Memory(file)
    assert "b" not in memory
    with file.open("ab") as end:
        end.write(b": 2}\n")
    memory.refresh()
    assert (memory["a"], memory["b"]) == (1, 2)
