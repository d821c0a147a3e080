"""Whether a node has to run again for the sake of a user's file whose name is an input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ..gph_core.library import NONE


def written_at(
    name: str | None, path_of: Callable[[str], Path], every: Iterable[Path]
) -> dict[str, int]:  # fmt: skip
    """When the file of a name was written last; nothing if it is not there.

    Args:
        name: None: it is linked and not known before the run, so every file may be the one.
        every: all of the files. An answer that is always new would sample all again that follows.
    """
    if name == NONE:
        return {}
    files = every if name is None else [path_of(name)]
    return {str(file): file.stat().st_mtime_ns for file in files if file.is_file()}
