"""Metrics of images that a node can measure, and what it outputs if one is missing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import comfy.model_management
from comfy_execution.graph_utils import ExecutionBlocker
from torch import Tensor

from ...gph_core.quality import metrics
from ...gph_core.quality.comparison import Comparison, Measure, comparable, compare
from ...gph_core.quality.metric_table import OF_IMAGES
from ..sample import lpips_weights
from ..semantic.judges import SemanticMetrics, figures_of

_LOG = logging.getLogger(__name__)


def metrics_for(choice: str, video: bool) -> tuple[dict[str, Measure], str | None]:
    """Metrics by name, and the name of LPIPS's network.

    LPIPS that is off is left out. A video gets all metrics of frames; those that need LPIPS are
    then reported as missing.
    """
    network, backbone = network_of(choice)
    chosen = {
        key: partial(row.compute, network=network) if row.needs_network else row.compute
        for key, row in OF_IMAGES.items()
        if (video if row.of_frames else choice != lpips_weights.OFF or not row.needs_network)
    }
    return chosen, backbone


def network_of(choice: str) -> tuple[metrics.Network, str | None]:
    """Chosen network of LPIPS and its name; if there is none, a function that raises the reason."""
    try:
        return lpips_weights.network(choice)
    except (ImportError, OSError, ValueError) as error:
        if choice != lpips_weights.OFF:
            _LOG.warning("Golden Path: no LPIPS: %s", error)
        return partial(_refuse, str(error)), None


def _refuse(reason: str, *images):
    raise ValueError(reason)


def mean_or_block(measured: Comparison, name: str, node: str = "Quality Compare"):
    """Mean of a metric; if it is missing, a block of the nodes behind it, with the reason.

    A number in its place would be taken for a score.
    """
    if name in measured.figures:
        return measured.figures[name].mean
    reason = measured.unavailable.get(name, lpips_weights.IS_OFF)
    return ExecutionBlocker(f"{node} has no {name.upper()}: {reason}")


def measured_beside_first(
    pictures: Sequence[Tensor], lpips: str, frames: int, semantic: SemanticMetrics | None = None
) -> tuple[list[Comparison], str | None]:
    """Metrics of all runs against the first, and the name of LPIPS's network.

    Args:
        pictures: ``[B, H, W, 3]`` of each run.
        frames: of each video; 1 for images.
        semantic: judges of the images.
    """
    reference, *tests = pictures
    chosen, network = metrics_for(lpips, video=frames > 1)
    measured = []
    for test in tests:
        pair = comparable(reference, test)
        planes = pair[0].movedim(-1, 1), pair[1].movedim(-1, 1)
        cancelled = comfy.model_management.throw_exception_if_processing_interrupted
        measured.append(compare(*planes, chosen, cancelled, frames))
    return judged(measured, pictures, semantic), network


def judged(
    measured: Sequence[Comparison], pictures: Sequence[Tensor], semantic: SemanticMetrics | None
) -> list[Comparison]:
    """Comparisons with the judges' figures added, if there are judges.

    Args:
        measured: comparisons of all other batches with the first.
        pictures: all batches, ``[B, H, W, 3]`` each.
    """
    if semantic is None:
        return list(measured)
    reference, *tests = [_scores(semantic, images) for images in pictures]
    return [
        replace(comparison, figures={**comparison.figures, **figures_of(scores, reference)})
        for comparison, scores in zip(measured, tests, strict=True)
    ]


def _scores(semantic: SemanticMetrics, images: Tensor) -> list[dict[str, float]]:
    """Scores of each image of a batch, ``[B, H, W, 3]``."""
    scores = []
    for image in images.movedim(-1, 1).split(1):
        comfy.model_management.throw_exception_if_processing_interrupted()
        scores.append(semantic.scores(image.clamp(0, 1)))
    return scores
