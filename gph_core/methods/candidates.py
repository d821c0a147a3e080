"""Names of the candidates of *Method Shootout*, and the texts in which users list them."""

from __future__ import annotations

from collections.abc import Collection

from ..schedule import Schedule
from .table import BASELINES, METHODS, VARIANTS

FULL, PATH, UNIFORM, PLAIN = "full", "golden path", "uniform", "plain steps"
FITTED_PATH = "fitted"  # a golden path with weights; PATH is one without
USUAL = (*METHODS, FITTED_PATH, PATH, UNIFORM, PLAIN, *BASELINES)
NAMES = (*USUAL, *VARIANTS)  # that can be chosen


def names_of(text: str) -> list[str]:
    """Candidates that a text names, each once; ``ValueError`` for others."""
    names = {name.casefold(): name for name in NAMES}
    words = [word.strip() for word in text.replace(",", "\n").splitlines() if word.strip()]
    for word in words:
        if word.casefold() not in names:
            raise ValueError(f"{word!r} is not a method; write one per line of: {', '.join(NAMES)}")
    return list(dict.fromkeys(names[word.casefold()] for word in words))


def schedules_of(text: str, others: Collection[str] = (FULL, *NAMES)) -> dict[str, Schedule]:
    """Schedules of a text, one per line, by the name before a colon or else by their own text.

    Raises ``ValueError`` for a line that is no schedule, and for a name of two rows.

    Args:
        others: names of other rows.
    """
    schedules: dict[str, Schedule] = {}
    rows = {name.casefold() for name in others}
    for line in filter(str.strip, text.splitlines()):
        name, _, steps = line.rpartition(":")
        schedule = Schedule.parse(steps)
        name = name.strip() or str(schedule)
        if name.casefold() in rows or schedules.setdefault(name, schedule) != schedule:
            raise ValueError(
                f"two rows would be named {name!r}; write another one before the colon"
            )
    return schedules
