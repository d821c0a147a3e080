"""Files of JSON lines: a header with the conditions that all lines share, then the items.

Each item is written as soon as it is there, so a cancelled run loses nothing. Several processes may
begin and fill a file together.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from . import reading, strict_json, whole_file
from .condition_diff import first_difference, plain

Item = TypeVar("Item")
_log = logging.getLogger(__name__)
MOST_BYTES = 2**30  # a run has some kilobytes
_LONGEST = 200  # characters of a reason, which may quote the file


@dataclass(frozen=True)
class JsonlFile(Generic[Item]):
    """A kind of such files.

    Args:
        format: name and version, in the header.
        kind, item: what messages call a file and a line.
        to_data, from_data: of an item to JSON data and back; ``from_data`` raises one of
            ``reading.ERRORS`` for other data.
    """

    format: str
    kind: str
    item: str
    to_data: Callable[[Item], Mapping[str, Any]]
    from_data: Callable[[dict[str, Any]], Item]

    def begin(self, path: Path, conditions: Mapping[str, Any]) -> list[Item]:
        """The items of a file, which is made if it is not there; then more can be appended.

        An item that a crash left incomplete at the end of the file is cut off, with a warning.

        Args:
            conditions: what all items depend on, as plain data.

        Raises:
            ValueError: the file is of other conditions; it names the first one that differs.
            OSError: the disk is full, ...; it names the file.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        wanted = plain(dict(conditions))
        if path.exists():
            reading.check_file(path, MOST_BYTES)
        with locked(path) as file:
            lines = _lines(path)
            size = sum(map(len, lines))
            if size < path.stat().st_size:
                file.truncate(size)
            if not lines:
                header = {"format": self.format, "conditions": wanted}
                lines = [json.dumps(header).encode() + b"\n"]
                whole_file.append(path, lines[0])
            elif not lines[-1].endswith(b"\n"):
                whole_file.append(path, b"\n")
        stored, items = self._parsed(path, lines)
        if difference := first_difference(stored, wanted):
            name, former, present = difference
            raise ValueError(
                f"the {self.kind} {_name(path)} was made with the {name} {former}, now it is "
                f"{present}; choose another name for this one"
            )
        return items

    def append(self, path: Path, item: Item) -> None:
        """Add an item to a file that was begun, wholly or not at all; errors as of ``begin``.

        ``ValueError`` also for an item that could not be read again, such as one with NaN.
        """
        line = json.dumps(self.to_data(item)).encode()
        try:
            self.from_data(strict_json.loads(line, is_finite=False))
        except reading.ERRORS as error:
            raise ValueError(
                f"this {self.item} cannot be kept: {reading.reason(error)}; look at an image with "
                "these settings first"
            ) from error
        with locked(path):
            whole_file.append(path, line + b"\n")

    def read(self, path: Path) -> list[Item]:
        """The items of a file in their order, without an incomplete last line; a warning tells.

        ``ValueError`` if the file is of another kind, or a line is no item; it says which.
        """
        return self._parsed(path, _lines(path))[1]

    def _parsed(self, path: Path, lines: list[bytes]) -> tuple[dict[str, Any], list[Item]]:
        """Conditions and items."""
        try:
            header = strict_json.loads(lines[0], is_finite=False)
            conditions = header["conditions"]
            if header["format"] != self.format or not isinstance(conditions, dict):
                raise ValueError("another format")
        except reading.ERRORS as error:
            raise ValueError(
                f"{_name(path)} is no {self.kind} of this pack and version; choose another name, "
                "or move it away"
            ) from error
        items = []
        for number, line in enumerate(lines[1:], 2):
            if line.isspace():
                continue
            try:
                items.append(self.from_data(strict_json.loads(line, is_finite=False)))
            except reading.ERRORS as error:
                raise ValueError(
                    f"line {number} of {_name(path)} is no {self.item}: "
                    f"{reading.reason(error)[:_LONGEST]}; mend or delete this line"
                ) from error
        return conditions, items


def _lines(path: Path) -> list[bytes]:
    """The lines with their ends, without an incomplete last one."""
    lines = reading.read(path, MOST_BYTES).splitlines(keepends=True)
    if lines and _is_rest(lines[-1]):
        _log.warning(
            "the last line of %s is incomplete, as after a crash, and is left out", _name(path)
        )
        lines.pop()
    return lines


def _is_rest(line: bytes) -> bool:
    """Whether a last line is incomplete, or ends in the zeros that a power cut leaves."""
    if line.endswith(b"\n") and b"\0" not in line:
        return False  # it was written to its end
    try:
        strict_json.loads(line, is_finite=False)
    except ValueError:
        return True
    return False


def _name(path: Path) -> str:
    """A file with its folder, since the files of all recordings have the same name."""
    return f"{path.parent.name}/{path.name}"


_PLACE = 2**30  # behind the content: Windows lets nobody else read a locked place


@contextmanager
def locked(path: Path) -> Iterator[BinaryIO]:
    """Lock a file for this process while the block runs; yields it, opened for appending.

    The file is made if it is not there. File systems without locks, such as some network ones, let
    everybody go on; so does Windows after ten seconds.
    """
    with path.open("ab") as file:
        with suppress(OSError):
            _set(file, locks=True)
        try:
            yield file
        finally:
            with suppress(OSError):
                _set(file, locks=False)


if sys.platform == "win32":
    import msvcrt

    def _set(file: BinaryIO, locks: bool) -> None:
        file.seek(_PLACE)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if locks else msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _set(file: BinaryIO, locks: bool) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX if locks else fcntl.LOCK_UN)
