"""What each worker is doing, for display."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# By the kind of a request; the page translates these words.
DOES = {
    "load": "loading", "controls": "checking", "full": "references", "measure": "scoring",
    "watched": "references", "velocities": "fitting", "measure_ends": "fitting", "job": "sampling",
}  # fmt: skip
WAITING, LOST = "waiting", "lost"
PAUSE_S = 0.25  # between two checks whether the user has cancelled


@dataclass
class _Row:
    doing: str = WAITING
    pending: int = 0  # requests
    since: float = 0.0  # start of what it is doing
    busy: float = 0.0  # seconds
    full_steps: int = 0

    @property
    def rate(self) -> float:
        """Full steps per minute of work."""
        return 60 * self.full_steps / self.busy if self.busy else 0.0


class Activity:
    """Rows of workers: what each does, and its full steps per minute of work.

    Args:
        check: raises if the user has cancelled.
        tell: gets the rows, several times a second.
    """

    def __init__(
        self, check: Callable[[], None], tell: Callable[[list[dict[str, Any]]], None]
    ) -> None:
        self._check, self._tell = check, tell
        self._rows: dict[int, _Row] = {}

    def asked(self, worker: int, kind: str) -> None:
        """Note a request of a kind."""
        row = self._rows.setdefault(worker, _Row())
        if not row.pending:
            row.since = time.monotonic()
        row.pending += 1
        row.doing = DOES.get(kind, row.doing)

    def answered(self, worker: int, answer: Any) -> None:
        """Note an answer, which may say how many steps were computed in full."""
        row, now = self._rows[worker], time.monotonic()
        row.pending = max(0, row.pending - 1)
        if isinstance(answer, dict) and (steps := answer.get("full_steps")):
            row.full_steps += steps
            row.busy += now - row.since
        row.since = now
        if not row.pending:
            row.doing = WAITING

    def dropped(self) -> None:
        """Note that nobody is waiting for answers any more."""
        for row in self._rows.values():
            row.pending = 0
            if row.doing != LOST:
                row.doing = WAITING

    def lost(self, worker: int) -> None:
        """Note that a worker is lost or left out."""
        self._rows.setdefault(worker, _Row()).doing = LOST

    def waits(self) -> None:
        """Report the rows while waiting for answers."""
        self._check()
        self._tell(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """One row for each worker, as the page takes them."""
        return [
            {"worker": number, "doing": row.doing, "rate": round(row.rate, 1)}
            for number, row in sorted(self._rows.items())
        ]
