"""Judges of images by their prompts, as nodes pass them on."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from ...gph_core.quality.comparison import Figures
from ...gph_core.quality.metric_table import JUDGED
from ...gph_core.quality.semantic.guard import Guard, with_changes


class Judge(Protocol):
    """Network that scores an image by a prompt."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its weights."""
        ...

    def score(self, image: Tensor, prompt: str) -> float:
        """Score of an image ``[1, H, W, 3]`` in [0, 1]."""
        ...


@dataclass(frozen=True)
class SemanticMetrics:
    """Judges, and what to judge by.

    Args:
        judges: by the key of their score.
        prompt: for images that come without one.
        guard: for *Schedule Search*.
    """

    judges: Mapping[str, Judge]
    prompt: str
    guard: Guard

    def text_for(self, prompt: str = "") -> str:
        """Prompt to judge by: the image's, else the node's; ``ValueError`` if there is neither."""
        if text := prompt.strip() or self.prompt.strip():
            return text
        raise ValueError(
            "Semantic Metrics judge images by their prompt, and there is none: write it into "
            "prompt of Semantic Metrics"
        )

    def check(self, prompts: Iterable[str], vae: Any) -> None:
        """Raise ``ValueError`` if examples cannot be judged, before anything is run."""
        if vae is None:
            raise ValueError("Semantic Metrics judge images: connect vae, or disconnect semantic")
        for prompt in prompts:
            self.text_for(prompt)

    def scores(self, images: Tensor, prompt: str = "") -> dict[str, float]:
        """Scores of one item, ``[F, 3, H, W]`` in [0, 1]; for a video, means over its frames."""
        text = self.text_for(prompt)
        frames = [frame.movedim(1, -1).float() for frame in images.split(1)]
        return {
            key: statistics.fmean(judge.score(frame, text) for frame in frames)
            for key, judge in self.judges.items()
        }

    def conditions(self, prompts: Iterable[str]) -> dict[str, Any]:
        """Facts that the scores of images with these prompts depend on."""
        facts = {
            f"judge of the {JUDGED[key].title}": judge.fingerprint
            for key, judge in self.judges.items()
        }
        if not all(prompt.strip() for prompt in prompts):
            facts["prompt of Semantic Metrics"] = self.prompt.strip()
        return facts


def check_prompt(semantic: SemanticMetrics | None) -> None:
    """Raise ``ValueError`` if there are judges but no prompt."""
    if semantic is not None:
        semantic.text_for()


def figures_of(
    scores: Iterable[Mapping[str, float]], reference: Iterable[Mapping[str, float]]
) -> dict[str, Figures]:
    """Figures of all items' scores and changes, by metric.

    Args:
        reference: scores of the full run's items.
    """
    items = [with_changes(*pair) for pair in zip(scores, reference, strict=True)]
    keys = [key for key in JUDGED if items and key in items[0]]
    return {key: Figures(tuple(item[key] for item in items)) for key in keys}
