"""Kept measurements, from which a stopped benchmark resumes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.lab.subjects import BOTH, weights_of


def folder(name: str) -> Path:
    """Folder of a benchmark's measurements, one for each version of the demo models' weights."""
    weights = weights_of(BOTH).replace(", ", "-")
    return Path(__file__).parent.parent / ".dev" / "kept" / weights / name


class Memory:
    """Measurements by key, in a file of JSON lines to which several processes may append."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._values: dict[str, Any] = {}
        self._read = 0  # bytes
        self.refresh()

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def refresh(self) -> None:
        """Take in what other processes have added."""
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written
                self._values.update(json.loads(line))
                self._read += len(line)

    def keep(self, found: Mapping[str, Any]) -> None:
        """Add measurements, as plain data."""
        self._values.update(found)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # In one piece, so that two processes can share the work.
        with self._file.open("ab", buffering=0) as file:
            file.write(json.dumps(found).encode() + b"\n")
