"""How much a part of the study measures, and where it keeps the results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.lab import demo
from benchmarks.lab.lab import Lab, Prompts
from benchmarks.lab.subjects import IMAGE, VIDEO

CFG = {IMAGE: 3.0, VIDEO: 5.0}  # that of the source's Wan 2.1
FEW = Prompts(preparation=2, scoring=2, unseen=6)

T = TypeVar("T")


@dataclass(frozen=True)
class Work:
    """Extent and memory that every part is given.

    Args:
        is_quick: only to see that everything runs.
        memory: folder of what is measured.
        subject: the model.
        sampler: of ComfyUI.
    """

    is_quick: bool
    memory: Path
    subject: str = IMAGE
    sampler: str = demo.SAMPLER

    def size(self, whole: T, quick: T) -> T:
        """One of two sizes."""
        return quick if self.is_quick else whole

    def lab(self, steps: int) -> Lab:
        """The demo model under the study's setting."""
        prompts = self.size(Prompts(), FEW)
        cfg = CFG[self.subject]
        return Lab(steps, cfg, self.sampler, prompts, self.memory, self.subject)


def label(row: dict) -> str:
    """A row's setting in short: ``13 of 50``."""
    return f"{row['full']} of {row['steps']}"
