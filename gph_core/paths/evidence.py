"""What was measured of fitted weights, in words, from the numbers that a golden path keeps."""

from __future__ import annotations

import re

from ..policies.fitted import Fitted
from .golden_path import SEARCHED, GoldenPath, one_line

SCORING, VALIDATION = "scoring", "validation"
# Bundled paths write "PSNR dB, 50 validation prompts".
_MEASURED = re.compile(
    r"([\w .-]{1,30}?)( dB)?, (?:mean of )?([0-9]{1,6}) "
    rf"({SCORING}|{VALIDATION}) (?:examples|prompts)"
)


def measured(title: str, count: int, part: str) -> str:
    """Key in ``GoldenPath.quality`` of the mean of a metric over SCORING or VALIDATION examples."""
    return f"{title}, mean of {count} {part} examples"


def evidence(path: GoldenPath) -> str:
    """Text such as "fitted here on 16 examples, PSNR 26.8 dB on 50 others".

    What others measured is given as their statement. Empty for a path without weights.
    """
    if not isinstance(path.policy, Fitted):
        return ""
    count, figure = path.policy.examples, _figure(path)
    fitted = "fitted here" if path.origin == SEARCHED else "fitted"
    if count:
        fitted += f" on {count} example{'' if count == 1 else 's'}"
    if path.is_ours:
        return f"{fitted}, {figure}" if figure else fitted
    states = f", its author states: {fitted}" if count or figure else ""
    return f"{path.origin}{states}{', ' if figure else ''}{figure}"


def _figure(path: GoldenPath) -> str:
    """The first mean that a path keeps; empty without one."""
    for key, value in path.quality.items():
        if match := _MEASURED.fullmatch(key):
            title, unit, number, part = match.groups()
            is_in_decibels = unit or title in ("PSNR", "PSNR Δt")
            reached = f"{value:.1f} dB" if is_in_decibels else f"{value:.3g}"
            where = f"{number} others" if part == VALIDATION else "these, not validated"
            return f"{one_line(title)} {reached} on {where}"
    return ""
