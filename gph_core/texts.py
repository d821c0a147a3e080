"""Words and columns that several reports share."""

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """A number of things, such as ``1 run`` and ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def named(names: str, reason: str) -> str:
    """A reason with whom it keeps away, once: some reasons begin with the name."""
    return reason if reason.startswith((f"{names} ", f"{names}:")) else f"{names}: {reason}"


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells in columns as wide as they need, the first one from the left."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([name.ljust(widths[0]), *map(str.rjust, rest, widths[1:])])
        for name, *rest in cells
    ]
