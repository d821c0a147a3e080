"""The speed choice of *Golden Path Cache*: from a name and a run to a schedule."""

from __future__ import annotations

from collections.abc import Sequence

from .choice import Choice, Conditions, choose
from .golden_path import GoldenPath
from .retarget import num_full

# Full steps of 50 in the seed paper, whose cache ratios are 0.58, 0.74 and 0.82.
SPEEDS = {"Quality": 21, "Balanced": 13, "Fast": 9}
OF_STEPS = 50


def resolve(speed: str, run: Conditions, paths: Sequence[GoldenPath]) -> Choice:
    """The schedule of a speed for a run, chosen from the paths as ``choice`` says.

    At least four steps stay full, so very short runs gain little or nothing.
    """
    if speed not in SPEEDS:
        raise ValueError(f"{speed!r} is not a speed; choose one of {', '.join(SPEEDS)}")
    full = SPEEDS[speed]
    count = num_full(run.num_steps, full, OF_STEPS)
    return choose(run, count, paths, 1 - full / OF_STEPS)


def full_of(speed: str | int, num_steps: int) -> int | None:
    """Number of full steps at a speed; None for a text that is no speed."""
    if isinstance(speed, int):
        return speed
    return num_full(num_steps, SPEEDS[speed], OF_STEPS) if speed in SPEEDS else None


def check_full(full: int, num_steps: int, fewest: int = 2, spare: int = 1) -> None:
    """Raise ``ValueError`` for a number of full steps that is out of range.

    Args:
        spare: further steps that cannot be full.
    """
    most = num_steps - spare
    if not fewest <= full <= most:
        possible = f"{fewest} to {most}" if fewest <= most else "none"
        raise ValueError(
            f"{full} full steps do not fit: of {num_steps} steps {possible} can be full; change "
            "full_steps or speed, or sample with more steps"
        )
