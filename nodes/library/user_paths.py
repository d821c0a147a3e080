"""The user's golden paths, kept in ComfyUI's user directory."""

from __future__ import annotations

from pathlib import Path

import folder_paths

from ...gph_core.paths.golden_path import SEARCHED, GoldenPath
from ...gph_core.paths.library import UserPaths, check_name
from .user_files import warn


def library() -> UserPaths:
    """Library in the folder ``golden_path/paths`` of the user directory; it may not exist yet."""
    return UserPaths(Path(folder_paths.get_user_directory()) / "golden_path" / "paths")


def check_replaceable(name: str) -> None:
    """Raise ``ValueError`` unless a search may save a path of this name."""
    check_name(name)
    known = next((path for path in read() if path.name.casefold() == name.casefold()), None)
    if known is not None and known.origin != SEARCHED:
        raise ValueError(
            f"your library has a path {known.name!r} that no search here found ({known.origin}); "
            "choose another study name"
        )


def read() -> tuple[GoldenPath, ...]:
    """Read all paths; the log names those that cannot be read."""
    paths, broken = library().read()
    for file, reason in broken.items():
        warn(file, library().folder, reason)
    return tuple(paths)
