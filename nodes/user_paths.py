"""The user's golden paths, kept in ComfyUI's user directory."""

from __future__ import annotations

import logging
from pathlib import Path

import folder_paths

from ..gph_core.golden_path import GoldenPath
from ..gph_core.library import UserPaths

_LOG = logging.getLogger(__name__)


def library() -> UserPaths:
    """The folder ``golden_path/paths`` of the user directory; it need not exist yet."""
    return UserPaths(Path(folder_paths.get_user_directory()) / "golden_path" / "paths")


def read() -> tuple[GoldenPath, ...]:
    """All paths that can be read; the others are named in the log."""
    paths, broken = library().read()
    for file, reason in broken.items():
        _LOG.warning("Golden Path: %s in %s is left out: %s", file, library().folder, reason)
    return tuple(paths)
