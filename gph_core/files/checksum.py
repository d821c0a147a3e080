"""Safetensors files with a checksum.

The header's metadata hold the SHA-256 of the whole file, computed with zeros in place of the number
itself. So it covers tensors, shapes and all other metadata, and it can be filled in at the end.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from . import strict_json

KEY = "sha256"
BLANK = "0" * 64  # in its place until it is known
ADVICE = "the file was damaged, or changed by another program"
_MOST_BYTES = 2**28  # of a header, which grows with the runs of a calibration
_PART = 2**20

_log = logging.getLogger(__name__)


class Header(NamedTuple):
    """Header of a file.

    Args:
        content: its bytes, the length in front of them included; the tensors follow.
        tensors: type, shape and place of each.
    """

    content: bytes
    metadata: dict[str, str]
    tensors: dict[str, Any]


def header_of(file: BinaryIO) -> Header:
    """Read the header at the beginning of a file; ``ValueError`` if there is none."""
    front = file.read(8)
    length = int.from_bytes(front, "little")
    if len(front) < 8 or length > _MOST_BYTES:
        raise ValueError("it has no header of a safetensors file")
    content = front + file.read(length)
    fields = strict_json.loads(content[8:].rstrip(b" "))
    if len(content) < 8 + length or not isinstance(fields, dict):
        raise ValueError("it has no whole header of a safetensors file")
    metadata = fields.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(type(v) is str for v in metadata.values()):
        raise ValueError("the metadata in its header are no texts")
    return Header(content, metadata, fields)


def place(header: bytes) -> int:
    """Where in a header the checksum has to be put, in place of ``BLANK``."""
    return header.index(f'"{BLANK}"'.encode()) + 1


def filled(content: bytes) -> bytes:
    """A whole file with its checksum in place of ``BLANK``."""
    start, number = place(content), hashlib.sha256(content).hexdigest().encode()
    return content[:start] + number + content[start + len(number) :]


def check(header: Header, rest: Iterable[bytes]) -> None:
    """Raise ``ValueError`` unless a file is as it was written.

    Args:
        rest: what follows the header, in parts.
    """
    number = header.metadata[KEY]
    if len(number) != len(BLANK):
        raise ValueError(f"its checksum has another length; {ADVICE}")
    digest = hashlib.sha256(header.content.replace(number.encode(), BLANK.encode(), 1))
    for part in rest:
        digest.update(part)
    if digest.hexdigest() != number:
        raise ValueError(f"its checksum does not fit; {ADVICE}")


def check_file(path: Path) -> None:
    """``check`` a large file on the disk, again only once it has changed."""
    stat = path.stat()
    _check_file(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=2**12)  # which keeps no errors
def _check_file(path: Path, size: int, changed_ns: int) -> None:
    with path.open("rb") as file:
        check(header_of(file), iter(lambda: file.read(_PART), b""))


@lru_cache(maxsize=2**12)
def tell_of_old(path: Path) -> str:
    """Note on a file of an older version of the pack, which is logged once."""
    note = (
        f"{path.parent.name}/{path.name} has no checksum, as an older version of the pack made it, "
        "so damage to it cannot be seen"
    )
    _log.warning("%s", note)
    return note
