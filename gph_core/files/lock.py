"""One process at a time works on a file; a lock of the system, which goes with its process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_PLACE = 2**30  # behind what such a file has: on Windows nobody else can read what is locked


@contextmanager
def locked(path: Path) -> Iterator[BinaryIO]:
    """Hold the lock of a file, which is made if it is not there, while the block runs.

    Yields the file, opened for adding to it.

    A file system without locks, as some of other machines are, lets everybody go on; so does
    Windows after ten seconds.
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
