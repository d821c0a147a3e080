"""Calibration files of the user."""

from __future__ import annotations

from pathlib import Path

from ...gph_core.calibration import file
from ...gph_core.calibration.entry import Calibration
from .user_files import UserFiles

FILES = UserFiles("calibrations", ".safetensors")


def load(name: str, method: str) -> Calibration:
    """Load a method's entry; ``ValueError`` says what to do if there is none."""
    return file.load(existing(name), method)


def existing(name: str) -> Path:
    """Calibration file to read; ``ValueError`` says what to do if there is none."""
    if not (path := FILES.readable(name)).is_file():
        raise ValueError(
            f"you have no calibration {name!r}; run Calibrate, or choose another from the list"
        )
    return path
