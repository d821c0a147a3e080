"""Files of JSON lines: several processes, what is left of crashes, what people edit."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gph_core.files.jsonl import JsonlFile

ROOT = Path(__file__).parents[3]
NUMBERS = JsonlFile("numbers-1", "list", "number", lambda n: {"n": n}, lambda data: data["n"] + 0)

WRITER = """
import sys
from pathlib import Path
from gph_core.files.jsonl import JsonlFile

numbers = JsonlFile("numbers-1", "list", "number", lambda n: {"n": n}, lambda data: data["n"] + 0)
print("ready", flush=True)
sys.stdin.readline()
path, first = Path(sys.argv[1]), int(sys.argv[2])
numbers.begin(path, {"a": 1})
for n in range(first, first + 300):
    numbers.begin(path.with_name(f"{n % 100}.jsonl"), {"a": 1})
    numbers.append(path, n)
"""


def test_two_processes_begin_and_fill_a_file_together(tmp_path):
    path = tmp_path / "list.jsonl"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, first],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for first in ("0", "1000")
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert sorted(NUMBERS.read(path)) == [*range(300), *range(1000, 1300)]
    headers = [file.read_bytes().count(b"\n") for file in tmp_path.iterdir() if file != path]
    assert headers == [1] * 100


@pytest.mark.parametrize("rest", [b"\0", b"\0" * 4096, b'{"n": 3\0\0', b"\0\0}\n", b'{"n": 3'])
def test_what_a_power_cut_leaves_is_cut_off_with_a_warning(tmp_path, caplog, rest):
    path = tmp_path / "list.jsonl"
    NUMBERS.begin(path, {})
    NUMBERS.append(path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + rest)
    assert NUMBERS.begin(path, {}) == [1]
    assert path.read_bytes() == whole
    assert "list.jsonl is incomplete, as after a crash" in caplog.text


def test_a_line_that_its_author_has_ended_is_never_cut_off(tmp_path):
    path = tmp_path / "list.jsonl"
    NUMBERS.begin(path, {})
    content = path.read_bytes() + b'{"n": 1,}\n'
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"line 2 of .*list\.jsonl is no number: .*; mend or del"):
        NUMBERS.begin(path, {})
    assert path.read_bytes() == content


def test_what_an_editor_leaves_is_read(tmp_path):
    path = tmp_path / "list.jsonl"
    header = json.dumps({"format": "numbers-1", "conditions": {}}).encode()
    path.write_bytes(b"\xef\xbb\xbf" + header + b'\r\n\r\n{"n": 1}\r\n{"n": Infinity}\r\n\r\n')
    assert NUMBERS.begin(path, {}) == NUMBERS.read(path) == [1, math.inf]


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    def refuse(data):
        if math.isnan(data["n"]):
            raise ValueError("n is no number")

    numbers = JsonlFile("numbers-1", "list", "number", lambda n: {"n": n}, refuse)
    numbers.begin(tmp_path / "list.jsonl", {})
    before = (tmp_path / "list.jsonl").read_bytes()
    with pytest.raises(ValueError, match="this number cannot be kept: n is no number; look at an"):
        numbers.append(tmp_path / "list.jsonl", math.nan)
    assert (tmp_path / "list.jsonl").read_bytes() == before


def test_a_whole_file_is_not_touched_when_it_is_begun_again(tmp_path):
    # Nodes run again when the file that they read has changed.
    path = tmp_path / "list.jsonl"
    NUMBERS.begin(path, {})
    os.utime(path, (1, 1))
    NUMBERS.begin(path, {})
    assert path.stat().st_mtime == 1
