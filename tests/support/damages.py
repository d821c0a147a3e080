"""What can happen to a file, and what its reader has to do then.

Nothing that is read from it may be raised as anything but ``ValueError`` or ``OSError``, and the
message names the file. What is no text that a person edits is read as it was written, or not at
all.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

PLACES = 8  # of cuts, and of flipped bits
_NUMBER = re.compile(rb"(?<=[ :\[])-?\d+(?:\.\d+)?(?=[,\]}])")
_INSTEAD = (b"NaN", b"-Infinity", b"1e999", b"9" * 400, b'"1"', b"null", b"[]", b"{}", b"true")
_WHOLE = {
    "no JSON": b"notes\n", "a list": b"[]\n", "a text": b'"text"\n', "null": b"null\n",
    "zero": b"0\n", "an object": b"{}\n", "too deep": b"[" * 100_000,
    "deeper": b'{"a":' * 3000 + b"1" + b"}" * 3000 + b"\n", "a long number": b"9" * 5000 + b"\n",
}  # fmt: skip


class Reader(NamedTuple):
    """A reader of files.

    Args:
        write: a good file to a path.
        read: all of it, as data that show what they are as text.
        is_exact: other data than those of the good file never come out.
        name: of its files.
    """

    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    is_exact: bool
    name: str


def damaged(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Contents of a file that was whole, with what has happened to it."""
    size = len(whole)
    for n in range(PLACES):
        place = size * n // PLACES + n * 7 % 11  # also inside small parts, such as a length
        yield f"cut at {place}", whole[:place]
        flipped = bytearray(whole)
        flipped[place % size] ^= 1 << n % 8
        yield f"bit flipped at {place}", bytes(flipped)
    for count in (1, 8, 64, size // 3, size):
        yield f"{count} zeros at the end", whole[: max(size - count, 0)] + bytes(min(count, size))
    yield "more at the end", whole + whole
    yield "invalid UTF-8", whole[: size // 2] + b"\xff\xfe" + whole[size // 2 :]
    yield "zeros added", whole + bytes(512)
    numbers = list(_NUMBER.finditer(whole))
    step = max(len(numbers) // 15, 1)
    for found, value in zip(numbers[::step], itertools.cycle(_INSTEAD)):
        content = whole[: found.start()] + value + whole[found.end() :]
        yield f"{value[:9].decode()} in the place of the number at {found.start()}", content
    yield from _WHOLE.items()


def faults(reader: Reader, folder: Path, every: int = 1) -> dict[str, str]:
    """What a reader does wrong, by what happened to its file.

    Args:
        every: for readers that take long, how many damages one of them stands for.
    """
    path, found = folder / reader.name, {}
    reader.write(path)
    whole, good = path.read_bytes(), repr(reader.read(path))
    for name, content in itertools.islice(damaged(whole), 0, None, every):
        path.write_bytes(content)
        found[name] = _fault(reader, path, good)
    if os.name != "nt":  # where the disk would have to have room for it
        path.write_bytes(whole)
        os.truncate(path, 2**41)
        found["too large"] = _fault(reader, path, good)
        path.unlink()
        os.mkfifo(path)  # who opens it waits forever
        found["a pipe"] = _fault(reader, path, good)
    path.unlink()
    path.mkdir()
    found["a folder"] = _fault(reader, path, good)
    return {name: fault for name, fault in found.items() if fault}


def _fault(reader: Reader, path: Path, good: str) -> str:
    try:
        found = repr(reader.read(path))
    except (OSError, ValueError) as error:
        return "" if path.name in str(error) else f"{error!r} does not name the file"
    except Exception as error:
        return f"raised {error!r}"
    return "" if found == good or not reader.is_exact else f"gave {found[:200]}"
