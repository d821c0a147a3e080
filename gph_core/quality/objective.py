"""Objectives of searches: a number made of the metrics of one example; higher is better."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .metric_table import COMPARED, LOWER, METRICS, Metric
from .semantic.guard import Guard
from .verdict import CAP, GRADES, HARDLY_VISIBLE, capped

# Metrics by name, as ``metrics`` computes them and a log keeps them.
Metrics = Mapping[str, float]

# dB for a cached image that equals the full one, instead of infinity: means stay finite.
PSNR_OF_EQUAL = 100.0
_INFINITE_OF_EQUAL = frozenset(("psnr", "frame_psnr"))


class NotANumberError(ValueError):
    """A metric has no value, because some pixels have none."""


@dataclass(frozen=True, slots=True)
class Objective:
    """What counts of an example: a weighted sum of metrics, or a function of that sum.

    The value of a schedule is the mean over its examples. Where a function counts, it is another
    one than the value of the mean metrics.

    Args:
        worth: what an example with this sum counts for.
        form: format of a value, with its unit.
        is_distance: whether the metric is better when lower, so that its values are negative here.
        guard: limits that a schedule has to keep, however high its value is.
    """

    name: str
    weights: tuple[tuple[str, float], ...]
    offset: float = 0.0
    worth: Callable[[float], float] = float  # the sum itself
    form: str = "{:.4g}"
    is_distance: bool = False
    guard: Guard = field(default_factory=Guard)

    def value(self, metrics: Metrics) -> float:
        """The objective of one example."""
        total = sum(w * _finite(name, metrics[name]) for name, w in self.weights)
        return self.worth(self.offset + total)

    def shown(self, value: float) -> float:
        """A value with the sign that people know: distances are positive."""
        return abs(value) if self.is_distance else value

    def text(self, value: float) -> str:
        """A value with its unit, as people know it."""
        return self.form.format(self.shown(value))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it needs."""
        return tuple(name for name, _ in self.weights)


def _of_metric(row: Metric) -> Objective:
    weights = ((row.key, float(row.better)),)
    return Objective(
        row.title, weights, form=row.form + row.unit, is_distance=row.better == LOWER
    )  # fmt: skip


# Of one metric each: analyses compare by these alone.
OBJECTIVES = {row.title: _of_metric(row) for row in COMPARED.values()}
PSNR = OBJECTIVES["PSNR"]

_BEYOND = 0.01  # of a dB for each dB
_TIE = 1e-4  # percent for each dB


def _capped(psnr: float) -> float:
    # Where all examples are beyond the cap, a search still has to see where to go on.
    return capped(psnr) + _BEYOND * max(psnr - CAP, 0.0)


def _hardly(psnr: float) -> float:
    # On a few examples many schedules have the same share. Among these capped PSNR decides. It
    # weighs so little that it never makes up for an example, and that the mean still reads as the
    # share.
    return 100.0 * (psnr >= HARDLY_VISIBLE) + _TIE * _capped(psnr)


# Of PSNR, what people can see.
CAPPED, HARDLY = f"PSNR up to {CAP:g} dB", GRADES[1].words
VISIBLE = {
    CAPPED: Objective(CAPPED, PSNR.weights, worth=_capped, form=PSNR.form),
    HARDLY: Objective(HARDLY, PSNR.weights, worth=_hardly, form="{:.1f} %"),
}
JOINT = "PSNR and LPIPS"  # standardized by the statistics of a probe
FOR_SEARCHES = VISIBLE | OBJECTIVES  # what searches offer beside it
DEFAULT = PSNR.name  # of *Schedule Search*: docs/results.md compares


def metrics_of(name: str) -> tuple[str, ...]:
    """Keys of the metrics that an objective needs, by its name."""
    return tuple(_JOINT_SIGNS) if name == JOINT else FOR_SEARCHES[name].metrics


def standardized(probed: Iterable[Sequence[Metrics]]) -> Objective:
    """PSNR less LPIPS, each in standard deviations from its mean over some schedules.

    Args:
        probed: for each schedule of a probe, the metrics of its examples.

    Source: GPH paper, appendix *Schedule Search*: mean and sample standard deviation of the
    example averages over the probe's 50 schedules.
    """
    averages = [
        {name: statistics.fmean(_finite(name, m[name]) for m in examples) for name in _JOINT_SIGNS}
        for examples in probed
    ]
    weights, offset = [], 0.0
    for name, sign in _JOINT_SIGNS.items():
        values = [average[name] for average in averages]
        deviation = statistics.stdev(values)
        if deviation == 0:
            raise ValueError(
                f"all {len(values)} schedules of the probe have the same {name}, so it cannot be "
                "weighed against others; choose another objective"
            )
        weights.append((name, sign / deviation))
        offset -= sign * statistics.fmean(values) / deviation
    return Objective(JOINT, tuple(weights), offset, form="{:+.2f} σ")


_JOINT_SIGNS = {key: float(METRICS[key].better) for key in ("psnr", "lpips")}


def _finite(name: str, value: float) -> float:
    if math.isnan(value):
        raise NotANumberError(f"{name} is not a number; the images hold values that are none")
    return min(value, PSNR_OF_EQUAL) if name in _INFINITE_OF_EQUAL else value
