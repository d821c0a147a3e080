"""What a cache does to runs of few steps, as models distilled to 4 or 8 steps take them.

The demo model is not distilled, and its run of 8 steps is coarse; CFG is 1, as for most distilled
models. Each picture is compared with the run of all its steps. 8 of 20 full steps stand beside: as
many evaluations, but another run. It takes about four minutes of one core; what was sampled is kept
in ``.dev/``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import _demo, _results
from benchmarks._lab import SCHEDULER, Lab
from benchmarks._results import interval
from benchmarks._shots import Shots
from benchmarks._ways import baselines, fitted

FILE = Path(__file__).parent / "results" / "few-steps.json"
SETTINGS = ((4, 3), (8, 6), (8, 4), (20, 8))  # steps, and how many are full
CFG = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench few-steps", description=__doc__)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    options = parser.parse_args()
    _demo.begin()
    found = []
    for row in rows():
        found.append(row)
        gains = ", ".join(
            f"{m:+.2f} ± {h:.2f} over {name}" for name, (m, h) in row["ahead"].items()
        )
        print("{full} of {steps}, {way}: {psnr[0]:.2f} dB; ".format(**row) + gains, flush=True)
    if options.save:
        conditions = {
            "model": "demo model", "sampling": f"{_demo.SAMPLER}, {SCHEDULER}, CFG {CFG:g}",
            "prompts": f"{Lab(8, CFG).prompts.unseen} held out of training, one noise each",
            "unit": "PSNR in dB of 8-bit images to the run of all steps: mean and half of its 95 % "
            "interval; ahead: of the other ways, paired by prompt",
        }  # fmt: skip
        _results.write(FILE, conditions, rows=found)
    return 0


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
                "steps": steps, "full": full, "way": way, "psnr": interval(values), "ahead": ahead,
            }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
