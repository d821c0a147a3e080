"""The golden paths that come with the pack, and those of users, one JSON file each."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..files import strict_json, whole_file
from ..files.names import NONE as NONE
from ..files.names import check_known_name, check_name, folded
from .golden_path import FORMAT, LEARNED, SEARCHED, SHARED, WITH_PACK, GoldenPath
from .judging import check_size, judged

DATA = Path(__file__).parents[1] / "data"
BUNDLED = DATA / "golden_paths.json"
FITTED_PATHS = DATA / "fitted_paths.json"  # of the demo model, from `bench fitted-paths`
ENDING = ".json"
# A file may be written again under the same time stamp for so many seconds: FAT rounds to two.
SETTLED_S = 3.0


@cache
def bundled_paths() -> tuple[GoldenPath, ...]:
    """The published paths and those of the demo model; of each model the preferred ones first."""
    data = json.loads(BUNDLED.read_text("utf-8"))
    grids = data["noise_levels"]

    def read(entry: dict) -> GoldenPath:
        levels = grids[entry["sigmas"]] if "sigmas" in entry else []
        return GoldenPath.from_json({**entry, "format": FORMAT, "sigmas": levels})

    fitted = json.loads(FITTED_PATHS.read_text("utf-8"))
    paths = (*map(read, data["paths"]), *map(GoldenPath.from_json, fitted))
    # Their files say "searched here", as they were written where the search ran.
    return tuple(replace(p, origin=WITH_PACK) if p.origin == SEARCHED else p for p in paths)


class _Read(NamedTuple):
    """What a file held in one state of it; in another state it is read again."""

    state: tuple[int, ...] | None  # None if the file may change without a trace
    path: GoldenPath | str  # or the reason why it is none


_SAVING = threading.Lock()  # a node and the page may save at the same moment
_READ: defaultdict[Path, dict[str, _Read]] = defaultdict(dict)  # by folder and file


class UserPaths:
    """The paths in a folder; a name is that of its file without ``.json``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self) -> tuple[list[GoldenPath], dict[str, str]]:
        """All paths by name, and for each broken file the reason why it was left out."""
        paths, broken, before = [], {}, _READ[self.folder]
        entries = sorted(self._entries(), key=lambda entry: entry.name.casefold())
        for entry in entries:
            path = _path_of(entry, before)
            if isinstance(path, str):
                broken[entry.name] = path
            elif path is not None:
                paths.append(path)
        for gone in before.keys() - {entry.name for entry in entries}:
            before.pop(gone, None)
        return paths, broken

    def get(self, name: str) -> GoldenPath:
        """A path by name; ``ValueError`` if there is none or its file is broken."""
        check_known_name(name)
        entries = {entry.name: entry for entry in self._entries()}
        alike = (n for n in entries if folded(n) == folded(name + ENDING))
        file = name + ENDING if name + ENDING in entries else next(alike, None)
        path = _path_of(entries[file], _READ[self.folder]) if file else None
        if path is None:
            raise ValueError(f"there is no golden path named {name!r} of yours")
        if isinstance(path, str):
            raise ValueError(f"{file} is no golden path: {path}")
        return path

    def checked(self, path: GoldenPath) -> tuple[Path, bytes]:
        """File and content of a path as ``save`` writes them.

        Raises ``ValueError`` for a path or a name that cannot be saved.
        """
        check_name(path.name)
        alike = self._alike(path.name)
        if alike and path.name not in alike:
            raise ValueError(
                f"{path.name!r} and {alike[0]!r}, which is there, are one file on some systems; "
                "choose another name, or write it like that one"
            )
        content = strict_json.dumps(path.to_json(), indent=1).encode()
        judged(content)
        return self._file(path.name), content

    def save(self, path: GoldenPath, overwrite: bool = False) -> Path:
        """Write a path under its name.

        Raises ``FileExistsError`` for a name in use, other errors as of ``checked``.
        """
        with _SAVING:
            file, content = self.checked(path)
            if not overwrite and self._alike(path.name):
                raise FileExistsError(f"there is a golden path named {path.name!r} already")
            try:
                whole_file.write(file, content)
            finally:
                self._forget(file)
        return file

    def rename(self, name: str, new_name: str) -> None:
        """Give a path another name; errors as of ``save``."""
        old = self._existing(name)
        check_name(new_name)
        new = self._file(new_name)
        if others := [other for other in self._alike(new_name) if other != name]:
            raise FileExistsError(f"there is a golden path named {others[0]!r} already")
        try:
            _move(old, new)
        except FileExistsError:
            raise FileExistsError(f"there is a golden path named {new_name!r} already") from None
        finally:
            self._forget(old, new)

    def delete(self, name: str) -> None:
        """Delete a path; ``ValueError`` if there is none of exactly that name."""
        file = self._existing(name)
        file.unlink(missing_ok=True)  # another process may have been quicker
        self._forget(file)

    def import_text(self, text: str, overwrite: bool = False) -> GoldenPath:
        """Save a shared path, as one that was searched elsewhere."""
        path = judged(text)
        if path.origin in (SEARCHED, LEARNED):
            path = replace(path, origin=SHARED)
        self.save(path, overwrite)
        return path

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}{ENDING}"

    def _existing(self, name: str) -> Path:
        """File of exactly this name, not of one that differs by case."""
        check_known_name(name)
        alike = self._alike(name)
        if name in alike:
            return self._file(name)
        there = f"; there is {alike[0]!r}" if alike else ""
        raise ValueError(f"there is no golden path named {name!r} of yours{there}")

    def _alike(self, name: str) -> list[str]:
        """Names of paths that some systems store in the same file as a name."""
        wanted, names = folded(name), (entry.name for entry in self._entries())
        return [n[: -len(ENDING)] for n in names if folded(n[: -len(ENDING)]) == wanted]

    def _entries(self) -> list[os.DirEntry[str]]:
        """Files of the folder that may be paths; none if there is no folder."""
        try:
            with os.scandir(self.folder) as entries:
                # Windows tells no upper from lower case.
                return [e for e in entries if os.path.normcase(e.name).endswith(ENDING)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _forget(self, *files: Path) -> None:
        """Read files again that were just changed."""
        for file in files:
            _READ[self.folder].pop(file.name, None)


def _path_of(entry: os.DirEntry[str], read: dict[str, _Read]) -> GoldenPath | str | None:
    """The path of a file, under the file's name, or the reason why it is none.

    A file is read again when it has changed. None if it has been deleted or renamed meanwhile.
    """
    state = None
    with suppress(OSError):  # reading will say what is wrong
        stat = entry.stat()
        state = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
        before = read.get(entry.name)
        if before is not None and before.state == state:
            return before.path
        if not 0 <= stat.st_mtime <= time.time() - SETTLED_S:
            state = None
    path = _read(Path(entry.path))
    if isinstance(path, str) and not os.path.lexists(entry.path):
        return None
    read[entry.name] = _Read(state, path)
    return path


def _read(file: Path) -> GoldenPath | str:
    try:
        check_known_name(file.stem)
        if not file.is_file():
            return "this is a folder or a device, no file"
        check_size(file.stat().st_size)
        return judged(file.read_bytes(), file.stem)
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"
    except ValueError as error:
        return str(error)


def _move(old: Path, new: Path) -> None:
    """Rename a file; ``FileExistsError`` if another one has the name."""
    if new.exists() and new.samefile(old):  # the same name in another case
        old.rename(new)
        return
    try:
        os.link(old, new)  # unlike a rename, it never replaces a file
    except FileExistsError:
        raise
    except OSError:  # this disk has no links
        old.rename(new)
        return
    try:
        old.unlink()
    except OSError:  # in use, on Windows
        new.unlink()
        raise
