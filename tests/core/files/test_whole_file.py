"""Whole files: old or new, never a part, whoever writes and whatever fails."""

import errno
import os
import threading
import time
from contextlib import nullcontext

import pytest

from gph_core.files import whole_file
from gph_core.files.whole_file import append, write, writing


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_is_written_with_its_folder_and_nothing_beside_it(tmp_path):
    write(tmp_path / "new" / "a.json", b"one")
    write(tmp_path / "new" / "a.json", b"two")
    assert (tmp_path / "new" / "a.json").read_bytes() == b"two"
    assert names(tmp_path / "new") == ["a.json"]


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    write(tmp_path / "a", b"old")

    def fail_halfway():
        with writing(tmp_path / "a") as file:
            file.write(b"half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path, monkeypatch):
    write(tmp_path / "a", b"old")
    monkeypatch.setattr(whole_file.os, "fsync", full_disk)
    with pytest.raises(OSError, match=r"No space left on device: .*a'"):
        write(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_readers_see_whole_files_while_two_writers_replace_them(tmp_path):
    path, contents = tmp_path / "a", (b"1" * 5000, b"2" * 9000)
    write(path, contents[0])
    found, writers = set(), []
    for content in contents:
        work = lambda content=content: [write(path, content) for _ in range(40)]  # noqa: E731
        writers.append(threading.Thread(target=work))
        writers[-1].start()
    while any(writer.is_alive() for writer in writers):
        found.add(path.read_bytes())
    assert found <= set(contents)
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("refusals", [1, 3, 4])
def test_a_file_that_another_process_reads_is_replaced_a_little_later(
    tmp_path, monkeypatch, refusals
):
    path, replace, waited = tmp_path / "a", type(tmp_path).replace, []
    answers = iter([PermissionError("in use")] * refusals)  # of Windows
    write(path, b"old")

    def refused_at_first(self, target):
        for error in answers:
            raise error
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(whole_file.time, "sleep", waited.append)
        patch.setattr(type(tmp_path), "replace", refused_at_first)
        with pytest.raises(PermissionError) if refusals == 4 else nullcontext():
            write(path, b"new")
    assert path.read_bytes() == (b"old" if refusals == 4 else b"new")
    assert len(waited) == min(refusals, 3)
    assert names(tmp_path) == ["a"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights that users lack there")
def test_a_link_under_a_name_of_old_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    folder = tmp_path / "paths"
    folder.mkdir()
    for name in ("a.tmp", "a.json.tmp", "a.json"):
        (folder / name).symlink_to(outside)
    write(folder / "a.json", b"new")
    assert outside.read_bytes() == b"precious"
    assert (folder / "a.json").read_bytes() == b"new"


def test_what_a_killed_process_has_left_goes_with_the_next_writing(tmp_path):
    old, fresh, other = "b.safetensors.0123456789ab.tmp", "a.json.ba9876543210.tmp", "my notes.tmp"
    for name in (old, fresh, other):
        (tmp_path / name).write_bytes(b"half")
    long_ago = time.time() - whole_file.LEFT_S - 1
    for name in (old, other):  # the second is no file of ours
        os.utime(tmp_path / name, (long_ago, long_ago))
    write(tmp_path / "a.json", b"new")
    assert names(tmp_path) == ["a.json", fresh, other]


def test_what_cannot_be_added_wholly_is_not_added(tmp_path, monkeypatch):
    class Full:
        """A raw file on a disk that has room for three bytes more."""

        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, left):
            if len(left) < 7:
                full_disk()
            return self.file.write(left[:3])

    path = tmp_path / "a.jsonl"
    append(path, b"first\n")
    opened = type(path).open
    monkeypatch.setattr(type(path), "open", lambda *a, **k: Full(opened(*a, **k)))
    with pytest.raises(OSError, match=r"No space left on device: .*a\.jsonl"):
        append(path, b"second\n")
    assert path.read_bytes() == b"first\n"
