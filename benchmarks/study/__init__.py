"""The GPH paper in miniature, on the demo models: ``python dev.py study [PART ...]``.

A part is a file of ``parts`` and its name in ``PARTS``. It has

    TITLE                   what it asks
    measure(work) -> dict   numbers as plain data, ``rows`` among them; see ``work.Work``
    draw(data, figure)      its figure
    summary(data) -> str    its numbers for docs/study.md, as markdown

and a section in docs/study.md with a pair of marks, between which its numbers go. What is measured
is kept in ``.dev/``: a study that was stopped goes on, and two processes can do parts of it.
A part's name with ``-video`` asks the same of the video model, with ``-video-uni_pc`` under uni_pc.

CPU minutes of one core, of the whole study: recurrence 75 (55 of them to calibrate), replay 30,
exhaustive 80 (its table, which search, samplers and examples read, too), search 5, objectives 60,
trajectories 2, errors 17, interaction 20, coverage 12 after recurrence and objectives, of which it
has most candidates, step_counts 30 (15 after objectives, which has its searches at 50 steps),
samplers 15, examples 1, trajectories-video 4, coverage-video 32. Parts about video read what
``bench methods`` measured; without that recurrence-video takes two hours more.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import NamedTuple

from benchmarks.lab import demo
from benchmarks.lab.subjects import IMAGE, VIDEO

OF_IMAGE = (
    "recurrence",
    "replay",
    "exhaustive",
    "coverage",
    "search",
    "objectives",
    "trajectories",
    "errors",
    "interaction",
    "step_counts",
    "samplers",
    "examples",
)
OF_VIDEO = ("recurrence", "replay", "coverage", "trajectories")  # as in the source
UNI_PC = "uni_pc"  # the sampler of the source's Wan
OF_VIDEO_UNI_PC = ("recurrence", "replay")
PARTS = (
    *OF_IMAGE,
    *(f"{name}-{VIDEO}" for name in OF_VIDEO),
    *(f"{name}-{VIDEO}-{UNI_PC}" for name in OF_VIDEO_UNI_PC),
)


class Part(NamedTuple):
    """A part's module, the model that it is about, and the sampler."""

    module: ModuleType
    subject: str
    sampler: str


def part_of(name: str) -> Part:
    """What a name of ``PARTS`` stands for."""
    module, *rest = name.split("-")
    sampler = UNI_PC if UNI_PC in rest else demo.SAMPLER
    subject = VIDEO if VIDEO in rest else IMAGE
    return Part(importlib.import_module(f"{__name__}.parts.{module}"), subject, sampler)
