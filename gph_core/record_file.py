"""Runs of examples in one file: a header with what they have in common, then a JSON line each."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .differences import first_difference, plain
from .record import RunRecord

FORMAT = "golden-path-runs-1"
_log = logging.getLogger(__name__)


class RecordedRun(NamedTuple):
    """The record of a run, and the example that was sampled."""

    example: str  # what identifies it; the same in every session
    prompt: str  # for people; empty if not known
    seed: int
    record: RunRecord


def begin(path: Path, conditions: Mapping[str, Any]) -> list[RecordedRun]:
    """The runs of a file, which is made if it is not there; more can be appended then.

    What a crash left of a run at the end of the file is cut off, with a warning.

    Args:
        conditions: what the runs depend on beside their examples, as plain data.

    Raises:
        ValueError: the file is of other conditions; it names the first one that differs.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(0)
        content = file.read()
        start = content.rfind(b"\n") + 1
        if start < len(content):  # the last line has no end
            if _is_whole(content[start:]):
                file.write(b"\n")
            else:
                _tell_of_broken_end(path)
                file.truncate(start)
                content = content[:start]
        if not content:
            header = {"format": FORMAT, "conditions": plain(dict(conditions))}
            file.write(json.dumps(header).encode() + b"\n")
    known, runs = _parsed(path)
    difference = first_difference(known, plain(dict(conditions)))
    if difference:
        name, former, present = difference
        raise ValueError(
            f"the recording was made with the {name} {former}, now it is {present}; choose another "
            "name for this one"
        )
    return runs


def append(path: Path, run: RecordedRun) -> None:
    """Add a run to a file that was begun."""
    line = json.dumps({**run._asdict(), "record": run.record.to_dict()})
    with path.open("ab") as file:
        file.write(line.encode() + b"\n")


def read(path: Path) -> list[RecordedRun]:
    """The runs of a file, in their order.

    A last line that is no JSON, as a crash leaves it, is dropped with a warning.

    Raises:
        ValueError: the file is no recording, or another line is no run; it says which.
    """
    return _parsed(path)[1]


def _parsed(path: Path) -> tuple[dict[str, Any], list[RecordedRun]]:
    """Conditions and runs."""
    lines = path.read_bytes().splitlines()
    if lines and not _is_whole(lines[-1]):
        _tell_of_broken_end(path)
        lines.pop()
    try:
        header = json.loads(lines[0])
        if header["format"] != FORMAT:
            raise ValueError("another format")
        conditions = dict(header["conditions"])
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{_told(path)} is no recording of this pack and version") from error
    runs = []
    for number, line in enumerate(lines[1:], 2):
        try:
            fields = json.loads(line)
            runs.append(RecordedRun(**{**fields, "record": RunRecord.from_dict(fields["record"])}))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"line {number} of {_told(path)} is no run: {error}") from error
    return conditions, runs


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line.decode())
    except ValueError:
        return False
    return True


def _tell_of_broken_end(path: Path) -> None:
    _log.warning(
        "the last line of %s is incomplete, as after a crash, and is left out", _told(path)
    )


def _told(path: Path) -> str:
    """A file with its folder, as the files of all recordings have one name."""
    return f"{path.parent.name}/{path.name}"
