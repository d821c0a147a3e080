"""Runs of examples in one file, see ``jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..files import forms
from ..files.jsonl import JsonlFile
from .record import RunRecord


class RecordedRun(NamedTuple):
    """The record of a run, and the example that was sampled."""

    example: str  # its identifier, the same in every session
    prompt: str  # for people; empty if not known
    seed: int
    record: RunRecord


def to_data(run: RecordedRun) -> dict[str, Any]:
    """A run as JSON takes it."""
    return {**run._asdict(), "record": run.record.to_dict()}


def from_data(data: Mapping[str, Any]) -> RecordedRun:
    """Run that ``to_data`` gave; ``ValueError`` for other data."""
    return forms.read(RecordedRun, data)


RECORDING = JsonlFile("golden-path-runs-1", "recording", "run", to_data, from_data)
FORMAT = RECORDING.format
begin, append, read = RECORDING.begin, RECORDING.append, RECORDING.read
