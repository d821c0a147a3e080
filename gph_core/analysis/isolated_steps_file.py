"""Measurements of isolated steps in a file, a line each."""

from __future__ import annotations

from dataclasses import asdict
from typing import NamedTuple

from ..files import fields
from ..files.jsonl import JsonlFile
from .isolated_steps import IsolatedStep


class Measured(NamedTuple):
    """Measurement of one step of one example."""

    example: str  # what identifies it; the same in every session
    prompt: str  # for people; empty if not known
    seed: int
    step: IsolatedStep


LINES = JsonlFile(
    "golden-path-isolated-steps-1",
    "measurement",
    "isolated step",
    lambda measured: {**measured._asdict(), "step": asdict(measured.step)},
    lambda data: fields.read(Measured, data),
)
