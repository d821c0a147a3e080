"""File that is gathered bit by bit: a header with what all of it has in common, then lines.

Each line is JSON and written as soon as it is known, so that a run that is cancelled loses nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from .condition_diff import first_difference, plain

Item = TypeVar("Item")
_log = logging.getLogger(__name__)
_LONGEST = 400  # characters of a reason, which may quote the file


@dataclass(frozen=True)
class JsonlFile(Generic[Item]):
    """A kind of such files.

    Args:
        format: name and version, in the header.
        kind: what a file is called in messages, ``item`` what a line is.
        to_data: of an item to what JSON takes; ``from_data`` the way back, with an error of
            ``ValueError``, ``KeyError``, ``TypeError`` or ``AttributeError`` for other data.
    """

    format: str
    kind: str
    item: str
    to_data: Callable[[Item], Mapping[str, Any]]
    from_data: Callable[[dict[str, Any]], Item]

    def begin(self, path: Path, conditions: Mapping[str, Any]) -> list[Item]:
        """The items of a file, which is made if it is not there; more can be appended then.

        What a crash left of an item at the end of the file is cut off, with a warning.

        Args:
            conditions: what the items depend on beside themselves, as plain data.

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
                header = {"format": self.format, "conditions": plain(dict(conditions))}
                file.write(json.dumps(header).encode() + b"\n")
        known, items = self._parsed(path)
        difference = first_difference(known, plain(dict(conditions)))
        if difference:
            name, former, present = difference
            raise ValueError(
                f"the {self.kind} was made with the {name} {former}, now it is {present}; choose "
                "another name for this one"
            )
        return items

    def append(self, path: Path, item: Item) -> None:
        """Add an item to a file that was begun."""
        with path.open("ab") as file:
            file.write(json.dumps(self.to_data(item)).encode() + b"\n")

    def read(self, path: Path) -> list[Item]:
        """The items of a file, in their order.

        A last line that is no JSON, as a crash leaves it, is dropped with a warning.

        Raises:
            ValueError: the file is of another kind, or another line is no item; it says which.
        """
        return self._parsed(path)[1]

    def _parsed(self, path: Path) -> tuple[dict[str, Any], list[Item]]:
        """Conditions and items."""
        lines = path.read_bytes().splitlines()
        if lines and not _is_whole(lines[-1]):
            _tell_of_broken_end(path)
            lines.pop()
        try:
            header = json.loads(lines[0])
            if header["format"] != self.format:
                raise ValueError("another format")
            conditions = dict(header["conditions"])
        except (IndexError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{_name(path)} is no {self.kind} of this pack and version") from error
        items = []
        for number, line in enumerate(lines[1:], 2):
            try:
                items.append(self.from_data(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                reason = f"line {number} of {_name(path)} is no {self.item}: {error}"
                raise ValueError(reason[:_LONGEST]) from error
        return conditions, items


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _tell_of_broken_end(path: Path) -> None:
    _log.warning(
        "the last line of %s is incomplete, as after a crash, and is left out", _name(path)
    )


def _name(path: Path) -> str:
    """A file with its folder, as the files of all recordings have one name."""
    return f"{path.parent.name}/{path.name}"
