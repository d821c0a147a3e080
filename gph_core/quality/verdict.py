"""How visible a difference between two images is, in words, by PSNR and SSIM.

The five grades are those of the impairment scale of ITU-R BT.500 (imperceptible; perceptible, but
not annoying; slightly annoying; annoying; very annoying). Their limits are a table that is common
in work on video quality, attributed to Zinner, Hohlfeld, Abboud and Hossfeld, "Impact of frame rate
and resolution on objective QoE metrics" (QoMEX 2010): PSNR of 45, 33, 27.4 and 18.7 dB, SSIM of
0.99, 0.95, 0.88 and 0.5. They are means over viewers and videos, so for one image they are a
convention, not a measurement. The words are ours. LPIPS has no such published table and takes no
part.
"""

from __future__ import annotations

import math
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


def verdict(psnr: float, ssim: float | None) -> str:
    """Verdict on one image: the worse of the grades of both figures.

    Args:
        psnr: in dB; infinite for identical images.
        ssim: where it was measured.
    """
    if psnr == math.inf:
        return IDENTICAL
    agreed = 1.0 if ssim is None else ssim
    return next(g.words for g in GRADES if psnr >= g.psnr and agreed >= g.ssim)
