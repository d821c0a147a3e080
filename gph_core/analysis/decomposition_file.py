"""Decomposed errors of runs in a file, a line each."""

from __future__ import annotations

from typing import NamedTuple

from ..files import fields
from ..files.jsonl import JsonlFile
from .decomposition import Decomposition


class Split(NamedTuple):
    """Decomposed errors of one run of one example."""

    example: str  # what identifies it; the same in every session
    prompt: str  # for people; empty if not known
    seed: int
    name: str  # of the schedule, for people
    plan: str  # what identifies it
    decomposition: Decomposition


LINES = JsonlFile(
    "golden-path-decompositions-1",
    "decomposition",
    "decomposed run",
    lambda split: {**split._asdict(), "decomposition": split.decomposition.to_dict()},
    lambda data: fields.read(Split, data),
)
