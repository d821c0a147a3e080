"""Results of several methods on the same examples, in a file of JSON lines.

A run is found by example, candidate and plan, so a candidate whose calibration has changed runs
again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..files import forms
from ..files.condition_diff import plain
from ..files.jsonl import JsonlFile
from ..run.record import RunRecord
from .comparison import IDENTICAL
from .objective import Metrics
from .stats import mean_of

FORMAT = "golden-path-shootout-1"
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class CandidateRun:
    """One run of one candidate.

    Args:
        example: its name, the same in every session.
        plan: identity of what the candidate did, such as its threshold.
        metrics: against the full run; empty for that run itself.
        seconds: of sampling.
        full_seconds: of the full run of this example in the same session, as machines differ.
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
        return json.dumps(_to_data(self))

    @classmethod
    def from_json(cls, text: str) -> CandidateRun:
        return _from_data(json.loads(text))


def _to_data(run: CandidateRun) -> dict[str, Any]:
    return {
        "example": run.example,
        "contender": run.candidate,  # its name in files since the first version
        "plan": run.plan,
        "seconds": run.seconds,
        "full_seconds": run.full_seconds,
        "metrics": in_json(run.metrics),
        "record": run.record and run.record.to_dict(),
    }


def _from_data(data: dict[str, Any]) -> CandidateRun:
    others = {n: v for n, v in data.items() if n not in ("contender", "metrics")}
    run = forms.read(CandidateRun, {**others, "candidate": data["contender"], "metrics": {}})
    if not run.seconds > 0:
        raise ValueError(f"it took {run.seconds:g} seconds, which no run does")
    return replace(run, metrics={name: number(v) for name, v in data["metrics"].items()})


_FILE = JsonlFile(FORMAT, "shootout", "result", _to_data, _from_data)


class Results:
    """The runs of a shootout, each written as it comes.

    Args:
        path: of the file, which is made if it is not there.
        conditions: what all runs depend on, as plain data; for a file of others, ``ValueError``
            names the first field that differs.
    """

    def __init__(self, path: Path, conditions: Mapping[str, Any]) -> None:
        self._path = path
        self.conditions = plain(dict(conditions))
        self._results = {run.key: run for run in _FILE.begin(path, conditions)}

    def get(self, example: str, candidate: str, plan: str) -> CandidateRun | None:
        """The result of a run; None if there is none."""
        return self._results.get((example, candidate, plan))

    def add(self, result: CandidateRun, is_kept: bool = True) -> None:
        """Add the result of a run, to the file only if it is to be kept."""
        if is_kept:
            _FILE.append(self._path, result)
        self._results[result.key] = result


def figures(values: Sequence[float]) -> dict[str, Any]:
    """Mean and 95 % interval of one metric over examples, in JSON types.

    Examples equal to the full run, with an infinite value, are counted and left out of the mean.
    """
    finite = [value for value in values if not math.isinf(value)]
    interval = _interval(finite) if finite else {"mean": IDENTICAL, "low": None, "high": None}
    return {**interval, "identical": len(values) - len(finite), "values": in_json(values)}


def ahead(values: Sequence[float], baseline: Sequence[float]) -> dict[str, Any] | None:
    """Mean and interval of the differences of finite pairs of values; None without any."""
    pairs = zip(values, baseline, strict=True)
    differences = [a - b for a, b in pairs if not (math.isinf(a) or math.isinf(b))]
    return _interval(differences) if differences else None


def in_json(values: Any) -> Any:
    """Numbers, lists and mappings in JSON types: null for NaN, a word for infinity."""
    if isinstance(values, Mapping):
        return {name: in_json(value) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [in_json(value) for value in values]
    if math.isnan(values):
        return None
    return IDENTICAL if math.isinf(values) else values


def number(value: Any) -> float:
    """Number that ``in_json`` gave; ``ValueError`` for anything else."""
    if value is None or value == IDENTICAL:
        return math.nan if value is None else math.inf
    if type(value) not in (int, float):
        raise ValueError(f"{str(value)[:40]!r} is no number")
    return float(value)


def _interval(values: Sequence[float]) -> dict[str, Any]:
    """Mean and interval; None where a single value has no interval, or NaN leaves no mean."""
    if any(map(math.isnan, values)):
        return {"mean": None, "low": None, "high": None}
    mean, low, high = mean_of(values)
    bounded = math.isfinite(low)
    return {"mean": mean, "low": low if bounded else None, "high": high if bounded else None}
