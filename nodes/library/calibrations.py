"""Calibration files of the user."""

from __future__ import annotations

from ...gph_core.calibration import file
from ...gph_core.calibration.entry import Calibration
from .user_files import UserFiles

FILES = UserFiles("calibrations", ".safetensors")


def load(name: str, method: str) -> Calibration:
    """Load a method's entry; ``ValueError`` says what to do if there is none."""
    if not FILES.path_of(name).is_file():
        raise ValueError(
            f"there is no calibration {name!r} of yours; run Calibrate, or choose another from the "
            "list"
        )
    return file.load(FILES.path_of(name), method)
