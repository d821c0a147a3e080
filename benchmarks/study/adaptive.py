"""The four adaptive methods of the GPH paper on new prompts, calibrated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.lab.lab import Lab
from benchmarks.lab.shots import Shot, Shots, Way
from benchmarks.lab.ways import way_of
from benchmarks.study.work import Work

METHODS = ("SeaCache", "TeaCache", "SenCache", "DiCache")
STEPS, QUICK_STEPS = (50, 20), (12,)


class Runs(NamedTuple):
    """One method at one number of full steps, a run for each new prompt."""

    lab: Lab
    shots: Shots
    way: Way
    found: list[Shot]


def runs(work: Work) -> Iterator[Runs]:
    """Runs of all methods; what is known is neither calibrated nor sampled again."""
    for steps in work.size(STEPS, QUICK_STEPS):
        lab = work.lab(steps)
        counts = work.size(lab.counts, lab.counts[:1])
        yield from of_lab(lab, counts, names_of(work))


def names_of(work: Work) -> Sequence[str]:
    """All methods, in a quick study the first."""
    return work.size(METHODS, METHODS[:1])


def of_lab(lab: Lab, counts: Sequence[int], names: Sequence[str]) -> Iterator[Runs]:
    """Runs of some methods under one setting, at those numbers of full steps that they reach."""
    missing, shots = lab.calibrate(names, counts), Shots(lab)
    for full, name in itertools.product(counts, names):
        if (full, name) not in missing and (way := way_of(name, lab, full)):
            yield Runs(lab, shots, way, shots.of(way, range(lab.prompts.unseen)))
