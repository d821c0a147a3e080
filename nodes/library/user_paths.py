"""Golden paths of the user and of the server, kept in ComfyUI's user directory."""

from __future__ import annotations

from copy import copy
from pathlib import Path

from ...gph_core.paths.golden_path import SEARCHED, GoldenPath
from ...gph_core.paths.library import UserPaths, bundled_paths, check_name
from ..schema import users
from ..schema.users import SERVERS
from .user_files import warn


def every() -> tuple[GoldenPath, ...]:
    """All paths that a run can take: the user's first, then the server's, then the bundled ones."""
    return (*read(), *bundled_paths())


def library() -> UserPaths:
    """Library in the folder ``golden_path/paths`` of the current user; it may not exist yet."""
    return _library(users.own_folder())


def get(name: str) -> GoldenPath:
    """The user's or the server's path of a name; ``ValueError`` if there is none."""
    folder, own = users.place_of(name)
    return _named(_library(folder).get(own), name)


def servers() -> tuple[GoldenPath, ...]:
    """The server's paths, which users can use but not change; none if there are no users."""
    if users.current() is None:
        return ()
    paths = _readable(_library(users.folder(None)))
    return tuple(_named(path, SERVERS + path.name) for path in paths)


def check_replaceable(name: str) -> None:
    """Raise ``ValueError`` unless a search may save a path of this name."""
    check_name(name)
    present = next((path for path in read() if path.name.casefold() == name.casefold()), None)
    if present is not None and present.origin != SEARCHED:
        raise ValueError(
            f"your library has a path {present.name!r} that no search here found "
            f"({present.origin}); choose another study name"
        )


def read() -> tuple[GoldenPath, ...]:
    """Read all paths, the user's first; the log names those that cannot be read."""
    return (*_readable(library()), *servers())


def _library(folder: Path) -> UserPaths:
    return UserPaths(folder / "paths")


def _named(path: GoldenPath, name: str) -> GoldenPath:
    """Copy of a path under another name; not checked again, as weights take 0.1 ms."""
    named = copy(path)
    object.__setattr__(named, "name", name)
    return named


def _readable(library: UserPaths) -> list[GoldenPath]:
    paths, broken = library.read()
    for file, reason in broken.items():
        warn(file, library.folder, reason)
    return paths
