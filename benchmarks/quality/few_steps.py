"""What a cache does to runs of few steps, as models distilled to 4 or 8 steps take them.

The demo model is not distilled, and its run of 8 steps is coarse; CFG is 1, as for most distilled
models. Each picture is compared with the run of all its steps. 8 of 20 full steps stand beside: as
many evaluations, but another run. It takes about four minutes of one core; what was sampled is kept
in ``.dev/``.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.lab import demo, report
from benchmarks.lab.lab import Lab
from benchmarks.lab.results import interval, seen
from benchmarks.lab.shots import Shots
from benchmarks.lab.ways import baselines, fitted

FILE = "few-steps.json"
SETTINGS = ((4, 3), (8, 6), (8, 4), (20, 8))  # steps, and how many are full
CFG = 1.0


def measure(options) -> dict:
    return {"rows": report.printed(rows())}


def conditions(options) -> dict:
    return {
        "model": "demo model", "sampling": f"{demo.SAMPLER}, {demo.SCHEDULER}, CFG {CFG:g}",
        "prompts": f"{Lab(8, CFG).prompts.unseen} held out of training, one noise each",
        "unit": "PSNR in dB of 8-bit images to the run of all steps: mean and half of its 95 % "
        "interval; ahead: of the other ways, paired by prompt",
    }  # fmt: skip


def rows() -> Iterator[dict]:
    """A row for each way of each setting."""
    for steps, full in SETTINGS:
        lab = Lab(steps, CFG)
        shots, everyone = Shots(lab), range(lab.prompts.unseen)
        ways = [*baselines(steps, full), fitted(lab, full)]
        psnr = {way.name: [shot.psnr for shot in shots.of(way, everyone)] for way in ways}
        for way, values in psnr.items():
            ahead = {
                name: interval([a - b for a, b in zip(values, others, strict=True)])
                for name, others in psnr.items()
                if name != way
            }
            yield {
                "steps": steps, "full": full, "way": way, "psnr": interval(values), **seen(values),
                "ahead": ahead,
            }  # fmt: skip
