"""Report of *Calibrate Ratio*: a threshold, and how many steps it caches."""

from __future__ import annotations

from collections.abc import Sequence

from ..calibration.threshold import FoundThreshold
from ..texts import counted


def threshold_text(
    found: FoundThreshold, num_steps: int, num_examples: int, notes: Sequence[str]
) -> str:
    """Outcome of a threshold, in the form of the GPH paper's tables, and further lines."""
    histogram = ", ".join(f"{count}: {number}" for count, number in found.histogram.items())
    lines = [
        f"threshold {found.threshold:.5g}; to use it, choose the same speed in Adaptive Cache",
        f"cached steps of {num_steps}: wanted {found.target:g}, mean {found.mean:.2f}, spread "
        f"{found.spread:.2f}, exactly {found.target:g} in {found.exact:.0%}",
    ]
    if len(found.counts) == num_examples:
        lines += [f"examples by cached steps: {histogram}", counted(found.num_runs, "run")]
    else:
        lines.append(
            "the method decides before the run, so all runs are the same and nothing was sampled"
        )
    return "\n".join([*lines, *filter(None, [found.note]), *notes])
