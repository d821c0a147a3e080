"""Texts on a calibration, a line for each method, and on a threshold of *Calibrate Ratio*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..calibration.entry import Calibration
from ..calibration.threshold import FoundThreshold
from .texts import counted


def described(entry: Calibration) -> str:
    """Line of a method; ``ValueError`` that names the file if it is damaged."""
    describe = _DESCRIBED.get(entry.method, lambda facts: counted(facts["num_examples"], "example"))
    with entry.damaged("report"):
        return describe(entry.report)


def _polynomial(facts: Mapping[str, Any]) -> str:
    r2 = facts["r2"]
    fit = "" if r2 is None else f"R² {r2:.2f}, "
    is_worse = r2 is not None and r2 < 0
    worse = "; worse than always predicting the mean, so use more examples" if is_worse else ""
    return (
        f"polynomial fitted to {counted(facts['num_fit'], 'example')}; on "
        f"{counted(facts['num_held_out'], 'other')} {fit}mean absolute error "
        f"{facts['mae']:.4f}{worse}"
    )


def _products(facts: Mapping[str, Any]) -> str:
    return (
        f"weights from {counted(facts['num_fit'], 'example')}, relative squared error "
        f"{facts['error_fit']:.2e}; on {counted(facts['num_held_out'], 'other')} "
        f"{facts['error_held_out']:.2e}"
    )


def _schedules(facts: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{count} full steps: {found['schedule']}, latent MSE {found['latent_mse']:.4g} on "
        f"{counted(found['examples'], 'example')}, best of {counted(found['scored'], 'schedule')}"
        for count, found in facts.items()
    )


_DESCRIBED = {
    "TeaCache": _polynomial,
    "SenCache": lambda facts: (
        f"{facts['quantile']} quantile of {counted(facts['num_examples'], 'example')}"
    ),
    "MagCache": lambda facts: (
        f"mean of {counted(facts['num_examples'], 'example')}; ratios differ by at most "
        f"{facts['largest_deviation']:.3f} (standard deviation)"
    ),
    "L2P": _products,
    "BudCache": _schedules,
}


def threshold_text(
    found: FoundThreshold, num_steps: int, num_examples: int, notes: Sequence[str]
) -> str:
    """Outcome of a threshold, in the form of the source paper's tables.

    Args:
        notes: further lines.
    """
    histogram = ", ".join(f"{count}: {number}" for count, number in found.histogram.items())
    lines = [
        f"threshold {found.threshold:.5g}; to use it, choose the same speed in Adaptive Cache",
        f"cached steps of {num_steps}: wanted {found.target:g}, mean {found.mean:.2f}, spread "
        f"{found.spread:.2f}, exactly {found.target:g} in {found.exact:.0%}",
    ]
    if len(found.counts) == num_examples:
        lines += [f"examples by cached steps: {histogram}", counted(found.num_runs, "run")]
    else:
        lines += [
            ("the method decides before the run, so all runs are the same and nothing was sampled")
        ]
    return "\n".join([*lines, *filter(None, [found.note]), *notes])
