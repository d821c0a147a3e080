"""Reading of files that may be damaged, of another program, or far too large."""

from __future__ import annotations

import pickle
import struct
import zipfile
from pathlib import Path

from safetensors import SafetensorError

# What the libraries that read files raise for unexpected data: a wrong byte may cause any of these.
ERRORS = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, RuntimeError, TypeError,
    ValueError, SafetensorError, pickle.UnpicklingError, struct.error, zipfile.BadZipFile,
)  # fmt: skip
MAX_REASON = 300  # characters of a reason, which may quote the file


def check_file(path: Path, most_bytes: int) -> int:
    """The size of a file.

    Raises:
        OSError: it is not there.
        ValueError: it is too large, or no file: opening a pipe would wait forever.
    """
    size = path.stat().st_size
    if not path.is_file():
        raise ValueError(f"{path.name} is a folder or a device, no file; move it away")
    if size > most_bytes:
        raise ValueError(
            f"{path.name} has {size / 2**20:.0f} MiB, such a file has at most "
            f"{most_bytes / 2**20:.0f}; move it away"
        )
    return size


def read(path: Path, most_bytes: int) -> bytes:
    """A whole file; errors as of ``check_file``."""
    check_file(path, most_bytes)
    return path.read_bytes()


def reason(error: BaseException) -> str:
    """The message of an error of a damaged file, on a short line."""
    text = repr(error) if isinstance(error, LookupError) else str(error)
    return text.partition("\n")[0].rstrip(".")[:MAX_REASON] or type(error).__name__
