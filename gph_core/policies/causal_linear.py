"""Causal linear prediction: fitted weights of all earlier outputs of a branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor

from ..files import reading, strict_json
from ..schedule import Schedule
from .base import Anchor, Now, Prediction, Site, Streams, combine_anchors

FORMAT = "golden-path-causal-linear-1"
MOST_BYTES = 2**30  # more than the weights of 10,000 steps have


@dataclass(frozen=True, eq=False)
class CausalLinear(Prediction):
    """``Σ_j W[t, j] y_j`` over the outputs of all steps j < t, real or predicted.

    Steps that are not stored have no part, and the other weights stay; if none is left, the newest
    output is repeated.

    Args:
        matrix: ``[N, N]`` strictly lower triangular weights, one per pair of steps.
        conditions: those of the calibration, as far as known, of which ``family`` must be the
            model's; and ``schedule``, if the weights are for one schedule only.

    Source: L2P, arXiv 2604.26365.
    """

    matrix: Tensor
    conditions: Mapping[str, Any] = field(default_factory=dict)

    site = Site.OUTPUT
    keeps_predictions = True

    def __post_init__(self) -> None:
        shape = tuple(self.matrix.shape)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"the weights must be a square matrix, one row a step, got {shape}")
        if not self.matrix.is_floating_point():
            raise ValueError(f"the weights must be fractions, got {self.matrix.dtype}")
        if not self.matrix.isfinite().all() or self.matrix.triu().any():
            raise ValueError(
                "the weights must be finite and use earlier steps only (strictly lower triangular)"
            )
        object.__setattr__(self, "num_anchors", len(self.matrix))

    def weights(self, anchor_steps: Sequence[int], step: int) -> list[float]:
        weights = [float(self.matrix[step, j]) for j in anchor_steps]
        return weights if any(weights) else [1.0]

    def predict(self, anchors: Sequence[Anchor], now: Now) -> Streams:
        return combine_anchors(anchors, self.weights([a.step for a in anchors], now.step))

    def check(self, schedule: Schedule, family: str = "") -> None:
        fitted = self.conditions.get("family", family)
        if schedule.num_cached and family and fitted != family:
            raise ValueError(
                f"the causal linear weights were fitted for {fitted}, this model is {family}; "
                "choose weights that were fitted for it"
            )
        if schedule.num_cached and schedule.num_steps != len(self.matrix):
            raise ValueError(
                f"the causal linear weights were fitted for {len(self.matrix)} steps but the "
                f"sampler runs {schedule.num_steps}; fit them for this step count"
            )
        own = self.conditions.get("schedule", str(schedule))
        if schedule.num_cached and own != str(schedule):
            raise ValueError(
                f"the causal linear weights were fitted for the schedule {own}, this run has "
                f"{schedule}; take that schedule, or fit weights for this one"
            )
        super().check(schedule, family)

    def __str__(self) -> str:
        return "causal linear"


def load(path: Path) -> CausalLinear:
    """Read weights from a safetensors file; ``ValueError`` that names the file if it cannot.

    It holds the tensor ``weights``, and in its metadata ``format`` and, as JSON, ``conditions``.
    """
    try:
        reading.check_file(path, MOST_BYTES)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            weights = file.get_tensor("weights") if metadata.get("format") == FORMAT else None
    except (OSError, *reading.ERRORS) as error:
        raise ValueError(
            f"{path.name} cannot be read as a safetensors file: {reading.reason(error)}"
        ) from error
    if weights is None:
        raise ValueError(f"{path.name} holds no causal linear weights of this pack")
    try:
        return CausalLinear(weights, dict(strict_json.loads(metadata.get("conditions", "{}"))))
    except reading.ERRORS as error:
        raise ValueError(
            f"the weights in {path.name} cannot be used: {reading.reason(error)}"
        ) from error
