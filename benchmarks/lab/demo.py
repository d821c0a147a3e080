"""Constants of sampling the demo models, a MODEL under a schedule, and PSNR."""

from __future__ import annotations

import numpy as np
import torch
from golden_path_pack.gph_core.run.record import RunRecord
from golden_path_pack.gph_core.run_plan import fixed
from golden_path_pack.nodes.hook import patching
from torch import Tensor

from benchmarks import ON_GPU

CFG = 5.0
SAMPLER, SCHEDULER = "euler", "simple"
BATCH = 64 if ON_GPU else 8  # prompts at once: 8 are the fastest on one core
PSNR_OF_EQUAL = 100.0  # dB, where it would be infinite
STATE_BYTES = 2**30  # of the states from which runs of a search go on


class Silent:
    """A reporter that keeps the record and turns a refusal into an error."""

    record: RunRecord  # once a run has ended

    def planned(self, line: str, choice) -> None: ...
    def started(self, run) -> None: ...
    def stepped(self, step: int, kind: str) -> None: ...
    def refused(self, reason: str) -> None:
        raise RuntimeError(reason)

    def finished(self, record: RunRecord) -> None:
        self.record = record


def cached(model, schedule, policy, reporter=None):
    """A MODEL under a schedule and a policy."""
    return patching.attach(model, fixed(schedule, policy), reporter or Silent())


def psnr(images: Tensor, reference: Tensor) -> np.ndarray:
    """dB ``[B]`` of 8-bit images, or of clips: the mean of their frames."""
    error = (images - reference).double().square().mean((-3, -2, -1))
    decibel = 10 * torch.log10(255**2 / error)
    return decibel.clamp(max=PSNR_OF_EQUAL).reshape(len(images), -1).mean(1).numpy()
