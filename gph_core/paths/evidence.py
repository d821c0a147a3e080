"""What was measured of fitted weights, in words, from the numbers that a golden path keeps."""

from __future__ import annotations

import re

from ..policies.fitted import Fitted
from ..quality.verdict import Tally
from ..texts import counted
from .golden_path import LEARNED, SEARCHED, GoldenPath, one_line

SCORING, VALIDATION = "scoring", "validation"
# Key in ``GoldenPath.quality``: mean of the images, each under weights of the others.
LEARNED_FIGURE = "PSNR dB, estimated, leave-one-out"
# Bundled paths write "PSNR dB, 50 validation prompts".
_MEASURED = re.compile(
    r"([\w .-]{1,30}?)( dB)?, (?:mean of )?([0-9]{1,6}) "
    rf"({SCORING}|{VALIDATION}) (?:examples|prompts)"
)
# The first mean of PSNR that a path keeps, in any of the forms that its key has had.
_PSNR = re.compile(
    r"(?:mean |validation )?PSNR(?: dB)?, (?:mean of )?"
    r"(?:[0-9]{1,6} (?:scoring |validation )?(?:prompts|examples)|estimated, leave-one-out)"
)


def psnr(path: GoldenPath) -> float | None:
    """Mean PSNR to full runs in dB; None if nobody measured it, or somebody else did."""
    if not path.is_ours:
        return None
    return next((value for key, value in path.quality.items() if _PSNR.fullmatch(key)), None)


def measured(title: str, count: int, part: str) -> str:
    """Key in ``GoldenPath.quality`` of the mean of a metric over SCORING or VALIDATION examples."""
    return f"{title}, mean of {count} {part} examples"


def beside_mean(psnr: Tally, count: int, part: str) -> dict[str, float]:
    """Entries of ``GoldenPath.quality`` beside the mean of PSNR over these examples."""
    return dict(zip(_beside(count, part), (psnr.worst, 100 * psnr.hardly), strict=True))


def _beside(count: int | str, part: str) -> tuple[str, str]:
    return (
        f"PSNR, worst tenth of {count} {part} examples",
        f"hardly visible, % of {count} {part} examples",
    )


def evidence(path: GoldenPath) -> str:
    """Text such as "fitted here on 16 examples, PSNR 26.8 dB on 50 others".

    Of a path that came with the pack "fitted on 16 examples, …".

    With what a mean hides, if the path keeps it: "…, worst tenth 21.3, hardly visible 24 %".
    Of a learned one "learned here from 2 images, about 37 dB when tried on each other; …".

    What others measured is given as their statement. Empty for a path without weights.
    """
    if not isinstance(path.policy, Fitted):
        return ""
    count, figure = path.policy.examples, _figure(path)
    if path.origin == LEARNED:
        return f"{LEARNED} from {counted(count, 'image')}{on_each_other(path)}"
    fitted = "fitted here" if path.origin == SEARCHED else "fitted"
    if count:
        fitted += f" on {count} example{'' if count == 1 else 's'}"
    if path.is_ours:
        return f"{fitted}, {figure}" if figure else fitted
    states = f", its author states: {fitted}" if count or figure else ""
    return f"{path.origin}{states}{', ' if figure else ''}{figure}"


def on_each_other(path: GoldenPath) -> str:
    """What a learned path is worth, with a comma before it; empty if that is not stated."""
    decibels = path.quality.get(LEARNED_FIGURE)
    if decibels is None:
        return ""
    return f", about {decibels:.0f} dB when tried on each other; other images may differ more"


def _figure(path: GoldenPath) -> str:
    """The first mean that a path keeps, with what it hides; empty without one."""
    for key, value in path.quality.items():
        if match := _MEASURED.fullmatch(key):
            title, unit, number, part = match.groups()
            is_in_decibels = unit or title in ("PSNR", "PSNR Δt")
            reached = f"{value:.1f} dB" if is_in_decibels else f"{value:.3g}"
            where = f"{number} others" if part == VALIDATION else "these, not validated"
            hidden = _hidden(path, number, part) if title == "PSNR" else ""
            return f"{one_line(title)} {reached} on {where}{hidden}"
    return ""


def _hidden(path: GoldenPath, number: str, part: str) -> str:
    """Worst tenth and share hardly visible, as far as a path keeps them."""
    worst, hardly = map(path.quality.get, _beside(number, part))
    return ("" if worst is None else f", worst tenth {worst:.1f}") + (
        "" if hardly is None else f", hardly visible {hardly:.0f} %"
    )
