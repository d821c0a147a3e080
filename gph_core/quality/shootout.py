"""Results of several methods on the same examples: single runs, kept in a file.

The file has a line of JSON for the conditions and one for each run. A run is looked up by example,
candidate and what the candidate did, so that one whose calibration has changed is run again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files.condition_diff import first_difference, plain
from ..run.record import RunRecord
from .comparison import IDENTICAL
from .gain import mean_of
from .objective import Metrics

FORMAT = "golden-path-shootout-1"
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class CandidateRun:
    """One run of one candidate.

    Args:
        example: names it, the same in every session.
        plan: tells candidates of one name apart, such as two thresholds.
        metrics: against the full run; empty for that run itself.
        seconds: of sampling.
        full_seconds: of the full run of this example in the same session: at another time the
            machine may have been another one, or busy.
        record: None for a run without a cache.
    """

    example: str
    candidate: str
    plan: str
    metrics: Metrics
    seconds: float
    full_seconds: float
    record: RunRecord | None = None

    @property
    def key(self) -> _Key:
        return self.example, self.candidate, self.plan

    @property
    def speedup(self) -> float:
        """Speed as a multiple of the full run's."""
        return self.full_seconds / self.seconds

    def to_json(self) -> str:
        fields = {
            "example": self.example,
            "contender": self.candidate,  # as files have called it from the first version on
            "plan": self.plan,
            "seconds": self.seconds,
            "full_seconds": self.full_seconds,
            "metrics": in_json(self.metrics),
            "record": self.record and self.record.to_dict(),
        }
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> CandidateRun:
        fields = json.loads(text)
        record, candidate = fields.pop("record"), fields.pop("contender")
        metrics = {n: number(value) for n, value in fields.pop("metrics").items()}
        return cls(
            **fields,
            candidate=candidate,
            metrics=metrics,
            record=record and RunRecord.from_json(json.dumps(record)),
        )


class Results:
    """The runs of a shootout, each written as it comes.

    Args:
        path: of the file, made if it is not there.
        conditions: what all runs depend on, as plain data. A file made under other ones is refused
            with a ``ValueError`` that names the first field that differs.
    """

    def __init__(self, path: Path, conditions: Mapping[str, Any]) -> None:
        self._path = path
        self.conditions = plain(dict(conditions))
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().split(b"\n") if path.is_file() else [b""]
        whole = lines[:-1]  # a last line without an end is what a crash left
        if not whole:
            header = {"format": FORMAT, "conditions": self.conditions}
            path.write_bytes(json.dumps(header).encode() + b"\n")
        else:
            _check(path, whole[0], self.conditions)
            if lines[-1]:
                path.write_bytes(b"\n".join(whole) + b"\n")
        self._results = {r.key: r for r in _read(path, whole[1:])}

    def get(self, example: str, candidate: str, plan: str) -> CandidateRun | None:
        """The result of a run, if there was one."""
        return self._results.get((example, candidate, plan))

    def add(self, result: CandidateRun, is_kept: bool = True) -> None:
        """Know the result of a run, in this session alone unless it is kept."""
        if is_kept:
            with self._path.open("ab") as file:
                file.write(result.to_json().encode() + b"\n")
        self._results[result.key] = result


def figures(values: Sequence[float]) -> dict[str, Any]:
    """Mean and 95 % interval of one metric over examples, as JSON takes them.

    As in ``comparison``, what is infinite, of images equal to the full one, is counted and left
    out; the mean is then of the others.
    """
    finite = [value for value in values if not math.isinf(value)]
    found = _interval(finite) if finite else {"mean": IDENTICAL, "low": None, "high": None}
    return {**found, "identical": len(values) - len(finite), "values": in_json(values)}


def ahead(values: Sequence[float], baseline: Sequence[float]) -> dict[str, Any] | None:
    """The mean of the differences, example by example, with its interval.

    Over the examples of which both values are finite; None if there is none.
    """
    pairs = zip(values, baseline, strict=True)
    differences = [a - b for a, b in pairs if not (math.isinf(a) or math.isinf(b))]
    return _interval(differences) if differences else None


def in_json(values: Any) -> Any:
    """Numbers, or lists and mappings of them, without those that JSON lacks."""
    if isinstance(values, Mapping):
        return {name: in_json(value) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [in_json(value) for value in values]
    if math.isnan(values):
        return None
    return IDENTICAL if math.isinf(values) else values


def number(value: Any) -> float:
    """Number that ``in_json`` gave."""
    return math.inf if value == IDENTICAL else math.nan if value is None else value


def _interval(values: Sequence[float]) -> dict[str, Any]:
    """A single value has no interval, and what holds one that is no number has no mean."""
    if any(map(math.isnan, values)):
        return {"mean": None, "low": None, "high": None}
    mean, low, high = mean_of(values)
    bounded = math.isfinite(low)
    return {"mean": mean, "low": low if bounded else None, "high": high if bounded else None}


def _check(path: Path, line: bytes, conditions: Mapping[str, Any]) -> None:
    try:
        header = json.loads(line)
        stored = header["conditions"] if header["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError):
        stored = None
    if stored is None:
        raise ValueError(f"{path.name} holds no shootout of this pack and version; move it away")
    if difference := first_difference(stored, conditions):
        field, former, present = difference
        raise ValueError(
            f"the shootout {path.stem} was made with the {field} {former}, this one has {present}; "
            "choose another name, or the former settings to go on with it"
        )


def _read(path: Path, lines: Sequence[bytes]):
    for number, line in enumerate(lines, 2):
        try:
            yield CandidateRun.from_json(line.decode())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"line {number} of {path.name} is no result: {error}") from error
