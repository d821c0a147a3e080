"""Number of full steps that is asked for, and whether a run can have it."""

from __future__ import annotations

from .retarget import num_full
from .speeds import OF_STEPS, SPEEDS


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
