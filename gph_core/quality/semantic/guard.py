"""Limits of a search on how far semantic scores may fall below those of the full runs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from ..metric_table import JUDGED

Scores = Mapping[str, float]  # by the key of their metric


def with_changes(scores: Scores, reference: Scores) -> dict[str, float]:
    """Scores of an image and their changes, each under the key of its metric.

    Args:
        reference: scores of the full run's image.
    """
    values = dict(scores)
    for key, row in JUDGED.items():
        if row.judge != key and row.judge in scores:
            pair = (torch.tensor([s[row.judge]]).double() for s in (reference, scores))
            values[key] = float(row.compute(*pair))
    return values


@dataclass(frozen=True)
class Guard:
    """Limits on the fall of mean semantic scores, by the key of the change; not negative."""

    limits: Mapping[str, float] = field(default_factory=dict)

    def changes(self, examples: Sequence[Mapping[str, float]]) -> dict[str, float]:
        """Means of the limited changes over examples, from the metrics of each."""
        return {key: statistics.fmean(metrics[key] for metrics in examples) for key in self.limits}

    def holds(self, examples: Sequence[Mapping[str, float]]) -> bool:
        """Whether all means keep their limits; NaN does not."""
        changes = self.changes(examples)
        return all(changes[key] >= -limit for key, limit in self.limits.items())

    def __str__(self) -> str:
        return " and ".join(
            f"{JUDGED[JUDGED[key].judge].title} falls by at most {limit:g}"
            for key, limit in self.limits.items()
        )


def changes_in_words(changes: Mapping[str, float]) -> str:
    """Mean changes as text, such as ``Δ CLIP -0.12``."""
    return ", ".join(f"{JUDGED[key].title} {JUDGED[key].text(v)}" for key, v in changes.items())
