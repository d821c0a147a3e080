"""Report of *Calibrate Ratio*: a threshold, and how many steps it caches."""

from __future__ import annotations

from collections.abc import Sequence

from ..calibration.threshold import FoundThreshold
from .texts import counted


def described(
    found: FoundThreshold, num_steps: int, num_examples: int, notes: Sequence[str]
) -> str:
    """Outcome of a threshold, in the form of the source paper's tables.

    Args:
        notes: further lines.
    """
    histogram = ", ".join(f"{count}: {number}" for count, number in found.histogram.items())
    lines = [
        f"threshold {found.threshold:.5g}, for the same speed in Adaptive Cache",
        f"cached of {num_steps} steps: wanted {found.target:g}, mean {found.mean:.2f}, "
        f"spread {found.spread:.2f}, exactly {found.target:g} in {found.exact:.0%}",
    ]
    if len(found.counts) == num_examples:
        lines += [f"examples by cached steps: {histogram}", counted(found.num_runs, "run")]
    else:
        lines += ["the same in every run: it is decided before, so nothing was sampled"]
    return "\n".join([*lines, *filter(None, [found.note]), *notes])
