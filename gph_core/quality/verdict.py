"""How visible a difference between two images is, in words, by PSNR and SSIM.

The five grades are those of the impairment scale of ITU-R BT.500 (imperceptible; perceptible, but
not annoying; slightly annoying; annoying; very annoying); the words are ours. Their limits are from
a published table of PSNR and SSIM by mean opinion score of videos
(https://html.scirp.org/file/_9-8102789_1.htm), which as far as we know goes back to Zinner,
Hohlfeld, Abboud and Hossfeld, "Impact of frame rate and resolution on objective QoE metrics" (QoMEX
2010). For one image they are a convention, not a measurement. We know of no such table for LPIPS.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

IDENTICAL = "identical"


class Grade(NamedTuple):
    """Verdict and the least PSNR (dB) and SSIM that it takes."""

    words: str
    psnr: float
    ssim: float


GRADES = (
    Grade("not visible", 45.0, 0.99),
    Grade("hardly visible", 33.0, 0.95),
    Grade("visible", 27.4, 0.88),
    Grade("clearly visible", 18.7, 0.5),
    Grade("a different picture", -math.inf, -math.inf),
)


HARDLY_VISIBLE = GRADES[1].psnr
# Where means of PSNR (dB) are compared, more counts as this much: nobody sees the rest, and a few
# images at 60 dB would outweigh one that went wrong. A round number between hardly visible and not
# visible.
CAP = 40.0


def capped(psnr: float) -> float:
    """PSNR (dB) as far as it can be seen."""
    return min(psnr, CAP)


class Tally(NamedTuple):
    """PSNR of several images, in dB: a mean alone hides the images that went wrong.

    Args:
        worst: the best value of the worst tenth; up to ten images: the lowest.
        hardly: share of images whose difference is hardly visible, or not at all, by PSNR.
    """

    mean: float
    worst: float
    hardly: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Tally:
        """The tally of at least one image; NaN counts as the lowest value, and leaves no mean."""
        count = len(values)
        ordered = sorted(-math.inf if math.isnan(value) else value for value in values)
        hardly = sum(value >= HARDLY_VISIBLE for value in ordered) / count
        return cls(statistics.fmean(values), ordered[math.ceil(count / 10) - 1], hardly)


def verdict(psnr: float, ssim: float | None) -> str:
    """Verdict on one image: the worse grade of PSNR (dB) and SSIM, if that was measured."""
    if psnr == math.inf:
        return IDENTICAL
    agreed = 1.0 if ssim is None else ssim
    return next(g.words for g in GRADES if psnr >= g.psnr and agreed >= g.ssim)
