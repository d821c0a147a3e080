"""Files that users name in nodes, and reruns of a node when its file changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ...gph_core.files.names import check_known_name, check_name
from ...gph_core.paths.library import NONE
from ..schema import users

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class UserFiles:
    """Files of one kind in a user's folder: ``golden_path/<kind>/<name><ending>``.

    Args:
        ending: ``.jsonl``, or ``/runs.jsonl`` for files that have a folder each.
    """

    kind: str
    ending: str

    @property
    def folder(self) -> Path:
        """Folder of the user's files of this kind; it need not exist yet."""
        return users.own_folder() / self.kind

    def names(self) -> list[str]:
        """Names of all files that can be read, the user's first; the log names the rest."""
        names = []
        for mark, folder in self._folders().items():
            own = []
            for path in folder.glob(f"*{self.ending}"):
                name = path.relative_to(folder).as_posix().removesuffix(self.ending)
                try:
                    check_known_name(name)
                    own.append(mark + name)
                except ValueError as error:
                    warn(name, folder, error)
            names += sorted(own, key=str.casefold)
        return names

    def path_of(self, name: str) -> Path:
        """The user's file to write, which need not exist; errors as in ``check_name``."""
        check_name(name)
        return self._file(users.own_folder(), name)

    def readable(self, name: str) -> Path:
        """File to read for one of ``names``; it may be gone. Errors as in ``check_known_name``."""
        return self._file(*users.place_of(name))

    def changed_at(self, name: str | None) -> dict[str, int]:
        """See ``written_at``."""
        every = (f for folder in self._folders().values() for f in folder.glob(f"*{self.ending}"))
        return written_at(name, self.readable, every)

    def _file(self, folder: Path, name: str) -> Path:
        check_known_name(name)
        return folder / self.kind / f"{name}{self.ending}"

    def _folders(self) -> dict[str, Path]:
        return {mark: root / self.kind for mark, root in users.readable_folders().items()}


def warn(name: str, folder: Path, reason: object) -> None:
    """Log that a file is left out, with the reason."""
    text = f"Golden Path: {name} in {folder} is left out: {reason}"
    # Broken files and names may hold characters that no log can encode.
    _LOG.warning("%s", text.encode("utf-8", "backslashreplace").decode())


def written_at(
    name: str | None, path_of: Callable[[str], Path], every: Iterable[Path]
) -> dict[str, int]:  # fmt: skip
    """Time at which the file of a name was last written; nothing if it is missing.

    Args:
        name: None if it is linked, and so not known before the run: it can be any file.
        every: all files. An answer that always changed would resample everything downstream.
    """
    if name == NONE:
        return {}
    files = every if name is None else [path_of(name)]
    return {str(file): file.stat().st_mtime_ns for file in files if file.is_file()}
