"""The memory of a study: all measurements of schedules, in an SQLite file.

Each measurement is committed at once: a crash loses only the one in progress, and several processes
can share the file.
"""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..files import reading, strict_json
from ..files.condition_diff import first_difference, plain
from ..quality.objective import Metrics
from ..schedule import Schedule

_TABLES = """
CREATE TABLE IF NOT EXISTS condition (field TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS measurement (
    number INTEGER PRIMARY KEY, schedule TEXT NOT NULL, example INTEGER NOT NULL,
    metrics TEXT NOT NULL, full_steps REAL NOT NULL, seconds REAL NOT NULL,
    UNIQUE (schedule, example)
);
"""
_PATIENCE = 60  # seconds to wait for another process


class Entry(NamedTuple):
    """The measurement of one example, with its costs."""

    metrics: Metrics
    full_steps: float
    seconds: float


class StudyLog:
    """Measurements under fixed conditions.

    Args:
        path: of the file, which is made if it is not there; None: the log is kept in memory.
        conditions: what the measurements depend on, as plain data; for a file of others,
            ``ValueError`` names the first field that differs.

    ``OSError`` names the file if it is damaged or its disk full.
    """

    needed: Sequence[str] = ()  # metrics that each measurement has to have

    def __init__(self, path: Path | None, conditions: Mapping[str, Any]) -> None:
        self.path = path
        with self._usable():
            self._database = sqlite3.connect(
                path or ":memory:", timeout=_PATIENCE, check_same_thread=False
            )
        # Python 3.13 warns if nobody closes it; the garbage collector runs in any thread.
        weakref.finalize(self, self._database.close)
        try:
            self._open(conditions)
        except (OSError, ValueError):
            self._database.close()
            raise

    def close(self) -> None:
        self._database.close()

    def metrics(self, schedule: Schedule) -> dict[int, Metrics]:
        """Known metrics of a schedule, by example."""
        return {example: entry.metrics for example, entry in self.entries(schedule).items()}

    def entries(self, schedule: Schedule) -> dict[int, Entry]:
        """Known metrics of a schedule with their costs, by example."""
        with self._usable():
            rows = self._database.execute(
                "SELECT number, example, metrics, full_steps, seconds FROM measurement "
                "WHERE schedule = ? ORDER BY example",
                (str(schedule),),
            )
            entries = dict(itertools.starmap(_entry, rows))
            for example, entry in entries.items():
                if missing := [name for name in self.needed if name not in entry.metrics]:
                    raise ValueError(f"{schedule} has no {missing[0]} of example {example + 1}")
            return entries

    def add(
        self, schedule: Schedule, examples: Sequence[int], metrics: Sequence[Metrics],
        full_steps: float, seconds: float,
    ) -> None:  # fmt: skip
        """Add a measurement, without replacing that of another process.

        Args:
            full_steps, seconds: what it cost, over all examples; steps are transformer evaluations
                at full compute.
        """
        costs = full_steps / len(examples), seconds / len(examples)
        with self._usable(), self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO measurement VALUES (NULL, ?, ?, ?, ?, ?)",
                [
                    (str(schedule), example, json.dumps(values), *costs)
                    for example, values in zip(examples, metrics, strict=True)
                ],
            )
        self._measured.add(str(schedule))

    def spent(self, *schedules: Schedule) -> tuple[float, float]:
        """Full steps and seconds of all measurements, or of those of some schedules."""
        query = "SELECT TOTAL(full_steps), TOTAL(seconds) FROM measurement"
        if schedules:
            query += f" WHERE schedule IN ({', '.join('?' * len(schedules))})"
        with self._usable():
            return self._database.execute(query, list(map(str, schedules))).fetchone()

    def __len__(self) -> int:
        """Number of schedules that were measured, wholly or in part, when opened or here."""
        return len(self._measured)

    def __contains__(self, schedule: Schedule) -> bool:
        """Whether a schedule is among them."""
        return str(schedule) in self._measured

    def __iter__(self) -> Iterator[Schedule]:
        """Every schedule, in the order of the first measurements."""
        query = "SELECT schedule FROM measurement GROUP BY schedule ORDER BY MIN(number)"
        with self._usable():
            rows = self._database.execute(query).fetchall()
            return iter([Schedule.parse(text) for (text,) in rows])

    def _open(self, conditions: Mapping[str, Any]) -> None:
        with self._usable():
            self._database.executescript(_TABLES)
            ((verdict,),) = self._database.execute("PRAGMA integrity_check(1)")
            if verdict != "ok":
                raise ValueError(verdict)
            # Of two processes that make the file at once, the second has to see the conditions.
            self._database.execute("BEGIN IMMEDIATE")
            rows = self._database.execute("SELECT field, value FROM condition").fetchall()
            stored = {field: strict_json.loads(value, is_finite=False) for field, value in rows}
        wanted = plain(dict(conditions))
        if stored and (difference := first_difference(stored, wanted)):
            field, former, present = difference
            raise ValueError(
                f"the study {self.path} was made with the {field} {former}, this search has "
                f"{present}; choose another study name, or use the former settings to continue it"
            )
        with self._usable(), self._database:
            if not stored:
                self._database.executemany(
                    "INSERT INTO condition VALUES (?, ?)",
                    [(field, json.dumps(value)) for field, value in wanted.items()],
                )
        # Kept in memory, as a study asks at every proposal.
        self._measured = {str(schedule) for schedule in self}

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Turn errors of the file or its disk into an ``OSError`` that names it."""
        try:
            yield
        except (sqlite3.Error, *reading.ERRORS) as error:
            advice = (
                "free some space, and queue again"
                if "disk is full" in str(error) or "disk I/O" in str(error)
                else "if another search is using it, wait until that ends, otherwise move it away"
            )
            raise OSError(
                f"the study file {self.path} cannot be used ({reading.reason(error)}); {advice}"
            ) from error


def _entry(number: int, example: Any, text: Any, *costs: Any) -> tuple[int, Entry]:
    """Example and entry of a row; ``ValueError`` for one that is no measurement.

    A metric may be infinite, for equal images, or NaN, for images without values.
    """
    try:
        metrics = strict_json.loads(text, is_finite=False)
    except reading.ERRORS as error:
        raise ValueError(f"measurement {number} is no JSON: {reading.reason(error)}") from error
    values = [*metrics.values(), *costs] if isinstance(metrics, dict) else [None]
    if not all(type(value) in (int, float) for value in values) or type(example) is not int:
        raise ValueError(f"measurement {number} holds something other than numbers")
    if not all(math.isfinite(cost) and cost >= 0 for cost in costs):
        raise ValueError(f"measurement {number} has the costs {costs}")
    return example, Entry(metrics, *costs)
