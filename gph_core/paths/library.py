"""The golden paths that come with the pack, and those that users keep, one JSON file each."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from .golden_path import FORMAT, SEARCHED, SHARED, GoldenPath

DATA = Path(__file__).parents[1] / "data"
BUNDLED = DATA / "golden_paths.json"
FITTED = DATA / "fitted_paths.json"  # of the demo model, as `bench fitted-paths` searches them
MAX_NAME = 100
MAX_REASON = 300  # characters
MAX_MIB = 16  # of a path's file; thousands of steps with weights have less
NONE = "none"  # what lists offer beside names
# Windows gives these names to devices, with any extension.
_DEVICES = {"con", "prn", "aux", "nul", *(n + i for n in ("com", "lpt") for i in "123456789¹²³")}


@cache
def bundled_paths() -> tuple[GoldenPath, ...]:
    """The published paths and those of the demo model, the preferred ones of each model first."""
    data = json.loads(BUNDLED.read_text("utf-8"))
    grids = data["noise_levels"]

    def read(entry: dict) -> GoldenPath:
        levels = grids[entry["sigmas"]] if "sigmas" in entry else []
        return GoldenPath.from_json({**entry, "format": FORMAT, "sigmas": levels})

    fitted = json.loads(FITTED.read_text("utf-8"))
    return (*map(read, data["paths"]), *map(GoldenPath.from_json, fitted))


class UserPaths:
    """The paths in a folder; a name is that of its file without ``.json``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self) -> tuple[list[GoldenPath], dict[str, str]]:
        """All paths by name, and for each broken file the reason why it was left out."""
        paths, broken = [], {}
        for file in sorted(self.folder.glob("*.json"), key=lambda file: file.name.casefold()):
            try:
                paths.append(_read(file))
            except ValueError as error:
                broken[file.name] = str(error)
        return paths, broken

    def get(self, name: str) -> GoldenPath:
        """A path by name; ``ValueError`` if there is none or its file is broken."""
        file = self._existing(name)
        try:
            return _read(file)
        except ValueError as error:
            raise ValueError(f"{file.name} is no golden path: {error}") from error

    def save(self, path: GoldenPath, overwrite: bool = False) -> Path:
        """Write a path under its name.

        Raises ``FileExistsError`` for a name in use, ``ValueError`` for one that cannot be used.
        """
        file, text = self._file(path.name), json.dumps(path.to_json(), indent=1)
        if not overwrite and self._find(path.name) is not None:
            raise FileExistsError(f"there is a golden path named {path.name!r} already")
        self.folder.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: another process may read it meanwhile.
        temporary = file.with_suffix(".tmp")
        temporary.write_text(text, "utf-8")
        temporary.replace(self._find(path.name) or file)
        return file

    def rename(self, name: str, new_name: str) -> None:
        """Give a path another name; errors as of ``save``."""
        old, new = self._existing(name), self._file(new_name)
        other = self._find(new_name)
        if other is not None and other != old:
            raise FileExistsError(f"there is a golden path named {new_name!r} already")
        old.rename(new)

    def delete(self, name: str) -> None:
        """Delete a path; ``ValueError`` if there is none of that name."""
        self._existing(name).unlink()

    def import_text(self, text: str, overwrite: bool = False) -> GoldenPath:
        """Save a shared path; what its author searched was not searched here."""
        path = GoldenPath.from_text(text)
        if path.origin == SEARCHED:
            path = replace(path, origin=SHARED)
        self.save(path, overwrite)
        return path

    def _file(self, name: str) -> Path:
        check_name(name)
        return self.folder / f"{name}.json"

    def _find(self, name: str) -> Path | None:
        """The file of a name, also where the file system tells no upper from lower case."""
        wanted = f"{name}.json".casefold()
        return next((f for f in self.folder.glob("*.json") if f.name.casefold() == wanted), None)

    def _existing(self, name: str) -> Path:
        check_name(name)
        file = self._find(name)
        if file is None:
            raise ValueError(f"there is no golden path named {name!r} of yours")
        return file


def _read(file: Path) -> GoldenPath:
    """The path of a file, under the file's name; ``ValueError`` says why it is none."""
    check_name(file.stem)
    try:
        return replace(GoldenPath.from_text(_text_of(file)), name=file.stem)
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from error
    except TypeError as error:
        raise ValueError(f"a value is of another type: {error}") from error
    except ValueError as error:
        raise ValueError(str(error)[:MAX_REASON]) from error  # it may quote the file


def _text_of(file: Path) -> str:
    if not file.is_file():
        raise ValueError("this is a folder or a device, no file")
    if (size := file.stat().st_size / 2**20) > MAX_MIB:
        raise ValueError(f"the file has {size:.0f} MiB, a path has at most {MAX_MIB}")
    return file.read_text("utf-8")


def check_name(name: str) -> None:
    """Raise ``ValueError`` unless the name is a file name on every system, and not ``NONE``."""
    if not name or len(name) > MAX_NAME:
        raise ValueError(f"a name has 1 to {MAX_NAME} characters, {name[:20]!r} has {len(name)}")
    bad = sorted({c for c in name if not (c.isalnum() or c in " .,_-+()")})
    if bad:
        raise ValueError(
            f"{name!r} contains {bad[0]!r}; letters, digits, spaces and . , _ - + ( ) can be used"
        )
    if name[0] in " ." or name[-1] in " .":
        raise ValueError(f"{name!r} begins or ends with a space or a dot; leave that out")
    if name.casefold() == NONE:
        raise ValueError(f"{name!r} stands for no file in lists; choose another name")
    if name.split(".")[0].rstrip().casefold() in _DEVICES:
        raise ValueError(f"{name!r} is the name of a device on Windows; choose another name")
