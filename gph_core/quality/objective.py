"""Objectives of searches: a number made of the metrics of one example; higher is better."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .metric_table import COMPARED, METRICS
from .semantic.guard import Guard

# Metrics by name, as ``metrics`` computes them and a log keeps them.
Metrics = Mapping[str, float]

# dB for a cached image that equals the full one, instead of infinity: means stay finite.
PSNR_OF_EQUAL = 100.0
_INFINITE_OF_EQUAL = frozenset(("psnr", "frame_psnr"))


class NotANumberError(ValueError):
    """A metric has no value, because some pixels have none."""


@dataclass(frozen=True, slots=True)
class Objective:
    """A weighted sum of metrics.

    It is affine, so the mean over examples is the objective of the mean metrics.

    Args:
        guard: limits that a schedule has to keep, however high its value is.
    """

    name: str
    weights: tuple[tuple[str, float], ...]
    offset: float = 0.0
    guard: Guard = field(default_factory=Guard)

    def value(self, metrics: Metrics) -> float:
        """The objective of one example."""
        return self.offset + sum(w * _finite(name, metrics[name]) for name, w in self.weights)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it needs."""
        return tuple(name for name, _ in self.weights)


OBJECTIVES = {
    row.title: Objective(row.title, ((row.key, float(row.better)),)) for row in COMPARED.values()
}
PSNR = OBJECTIVES["PSNR"]
JOINT = "PSNR and LPIPS"  # standardized by the statistics of a probe


def metrics_of(name: str) -> tuple[str, ...]:
    """Keys of the metrics that an objective needs, by its name."""
    return tuple(_JOINT_SIGNS) if name == JOINT else OBJECTIVES[name].metrics


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
    return Objective(JOINT, tuple(weights), offset)


_JOINT_SIGNS = {key: float(METRICS[key].better) for key in ("psnr", "lpips")}


def _finite(name: str, value: float) -> float:
    if math.isnan(value):
        raise NotANumberError(f"{name} is not a number; the images hold values that are none")
    return min(value, PSNR_OF_EQUAL) if name in _INFINITE_OF_EQUAL else value
