"""Files that users name in nodes, and reruns of a node when its file changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import folder_paths

from ...gph_core.paths.library import NONE, check_name

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class UserFiles:
    """Files of one kind in the user directory: ``golden_path/<kind>/<name><ending>``.

    Args:
        ending: ``.jsonl``, or ``/runs.jsonl`` of files that have a folder each.
    """

    kind: str
    ending: str

    @property
    def folder(self) -> Path:
        """Folder of all these files; it need not exist yet."""
        return Path(folder_paths.get_user_directory()) / "golden_path" / self.kind

    def names(self) -> list[str]:
        """Names of all existing files; the log names those whose name nobody can choose."""
        names = []
        for path in self._every():
            name = path.relative_to(self.folder).as_posix().removesuffix(self.ending)
            try:
                check_name(name)
                names.append(name)
            except ValueError as error:
                warn(name, self.folder, error)
        return sorted(names, key=str.casefold)

    def path_of(self, name: str) -> Path:
        """File of a name, which need not exist; errors as of ``check_name``."""
        check_name(name)
        return self.folder / f"{name}{self.ending}"

    def changed_at(self, name: str | None) -> dict[str, int]:
        """See ``written_at``."""
        return written_at(name, self.path_of, self._every())

    def _every(self) -> Iterable[Path]:
        return self.folder.glob(f"*{self.ending}")


def warn(name: str, folder: Path, reason: object) -> None:
    """Name a file that is left out in the log, with the reason."""
    text = f"Golden Path: {name} in {folder} is left out: {reason}"
    # Broken files and names may hold characters that no log can encode.
    _LOG.warning("%s", text.encode("utf-8", "backslashreplace").decode())


def written_at(
    name: str | None, path_of: Callable[[str], Path], every: Iterable[Path]
) -> dict[str, int]:  # fmt: skip
    """Time at which the file of a name was last written; nothing if it is missing.

    Args:
        name: None if it is linked and not known before the run, so that any file may be meant.
        every: all of the files. An answer that always changes would resample all that follows.
    """
    if name == NONE:
        return {}
    files = every if name is None else [path_of(name)]
    return {str(file): file.stat().st_mtime_ns for file in files if file.is_file()}
