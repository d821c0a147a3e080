"""Evidence for fitted weights, from the numbers that a golden path keeps, in words."""

from __future__ import annotations

import re

from ..policies.fitted import Fitted
from .golden_path import SEARCHED, SHARED, GoldenPath

SCORING, VALIDATION = "scoring", "validation"
# Bundled paths write "PSNR dB, 50 validation prompts".
_MEASURED = re.compile(
    rf"(.+?)( dB)?, (?:mean of )?(\d+) ({SCORING}|{VALIDATION}) (?:examples|prompts)"
)


def measured(title: str, count: int, part: str) -> str:
    """Key of a mean in ``GoldenPath.quality``.

    Args:
        title: of the metric.
        count: number of examples.
        part: ``SCORING`` or ``VALIDATION``.
    """
    return f"{title}, mean of {count} {part} examples"


def evidence(path: GoldenPath) -> str:
    """Text such as "fitted here on 16 examples, PSNR 26.8 dB on 50 others".

    Empty for a path without weights.
    """
    if not isinstance(path.policy, Fitted):
        return ""
    text, count = "fitted", path.policy.examples
    text += {SEARCHED: " here", SHARED: " elsewhere"}.get(path.origin, "")
    if count:
        text += f" on {count} example{'' if count == 1 else 's'}"
    for key, value in path.quality.items():
        if found := _MEASURED.fullmatch(key):
            title, unit, number, part = found.groups()
            is_in_decibels = unit or title in ("PSNR", "PSNR Δt")
            reached = f"{value:.1f} dB" if is_in_decibels else f"{value:.3g}"
            where = f"{number} others" if part == VALIDATION else "these, not validated"
            return f"{text}, {title} {reached} on {where}"
    return text
