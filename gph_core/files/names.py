"""Names that users give: each is a file's name on every system."""

from __future__ import annotations

import unicodedata

from .whole_file import SUFFIX_BYTES

MAX_NAME = 100  # characters
# File systems count bytes of UTF-8. The longest addition to a name: the ending of an unfinished
# calibration, or of the journal of BudCache's search beside one.
ADDED_BYTES = max(len(".safetensors") + SUFFIX_BYTES, len(" BudCache 01234567.sqlite-journal"))
MAX_NAME_BYTES = 255 - ADDED_BYTES
NONE = "none"  # stands for no file in lists
# Names of devices on Windows, with any extension.
_DEVICES = {"con", "prn", "aux", "nul", *(n + i for n in ("com", "lpt") for i in "123456789¹²³")}


def check_name(name: str) -> None:
    """Raise ``ValueError`` unless a new file can have this name on every system."""
    check_known_name(name)
    size = len(name.encode())
    if size > MAX_NAME_BYTES:
        raise ValueError(
            f"the name {name[:20]!r}... has {size} bytes, a file's name can have {MAX_NAME_BYTES}; "
            "choose a shorter one: many letters take two or three bytes"
        )


def check_known_name(name: str) -> None:
    """Raise ``ValueError`` unless an existing file of ours can have the name.

    Unlike that of a new file, it may have any number of bytes.
    """
    if not name or len(name) > MAX_NAME:
        raise ValueError(f"a name has 1 to {MAX_NAME} characters, {name[:20]!r} has {len(name)}")
    bad = sorted({c for c in composed(name) if not (c.isalnum() or c in " .,_-+()")})
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


def composed(name: str) -> str:
    """The name with accents joined to their letters, which some file systems of macOS separate."""
    return unicodedata.normalize("NFC", name)


def folded(name: str) -> str:
    """Name by which some systems tell files apart: equal for names of the same file."""
    return composed(composed(name).casefold())
