"""Writing of whole files: a reader gets the old or the new one, never a part.

Writers do not disturb each other; the last one's file stays. Each writes under a new random name,
so a link that somebody planted under a predictable one leads nowhere.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".tmp"
SUFFIX_BYTES = len(f".{uuid.uuid4().hex[:12]}{UNFINISHED}")  # added to a name while it is written
_LEFT = re.compile(rf"\.[0-9a-f]{{12}}{re.escape(UNFINISHED)}$")
LEFT_S = 86400.0  # an unfinished file as old as this is of a killed process

# Seconds between attempts: Windows replaces no file that another process reads.
PAUSES_S = (0.05, 0.2, 1.0)


@contextmanager
def writing(path: Path, is_kept: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write to, which replaces ``path`` when the block ends without an error.

    The folder is made if it is not there.

    Args:
        is_kept: whether the file survives a power cut; waiting for the disk takes time.

    Raises:
        OSError: the disk is full, the folder cannot be written to, ...; it names the file.
    """
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}{UNFINISHED}")
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _clean_up(path.parent)
        try:
            with temporary.open("x+b") as file:
                yield file
                if is_kept:
                    file.flush()
                    os.fsync(file.fileno())
            _replace(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def write(path: Path, content: bytes) -> None:
    """Write a whole file; errors as of ``writing``."""
    with writing(path) as file:
        file.write(content)


def append(path: Path, content: bytes) -> None:
    """Add to a file, all or nothing; ``OSError`` names the file."""
    # Without a buffer, which would try again as the file is closed.
    with naming(path), path.open("ab", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        try:
            write_all(file, content)
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise


def write_all(file: RawIOBase, content: bytes) -> None:
    """Write to an unbuffered file, which may take less than it is given at once."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) or 0 :]


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's name to an ``OSError`` of the block: that of a full disk lacks it."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def _replace(new: Path, path: Path) -> None:
    for pause in PAUSES_S:
        try:
            new.replace(path)
        except PermissionError:
            time.sleep(pause)
        else:
            return
    new.replace(path)


def _clean_up(folder: Path) -> None:
    """Remove what killed processes have left in a folder."""
    for file in folder.iterdir():
        if _LEFT.search(file.name):
            with suppress(OSError):
                if time.time() - file.lstat().st_mtime > LEFT_S:
                    file.unlink()
