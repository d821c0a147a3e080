"""Samples for adaptive methods: what their gates compare with a threshold."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor

from ...gph_core.calibration.polynomial import Changes
from ...gph_core.calibration.residual_ratios import Ratios
from ...gph_core.calibration.sensitivities import Sensitivity, sample_of, sensitivity
from ..hook.observing import Observed
from .calibration_samples import Sample, unseen


class TeaCacheSample(Sample):
    """Changes of the signal and of the output, of every branch.

    Args:
        times: ``[N, ...]`` the signal of each step, where it depends on time alone.
    """

    def __init__(self, num_steps: int, times: Tensor | None) -> None:
        self._num_steps, self._times = num_steps, times
        self._changes: dict[int, Changes] = defaultdict(Changes)
        self._steps: dict[int, int] = defaultdict(int)

    def branch(self, observed: Observed) -> None:
        at_step = observed.gate_input
        signal = at_step.modulated if self._times is None else self._times[at_step.step][None]
        if signal is not None:
            self._changes[observed.branch].add(observed.branch, signal, observed.velocity)
            self._steps[observed.branch] += 1

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        counted = {b: (c, self._steps[b]) for b, c in self._changes.items()}
        found = [c.sample() for c, count in counted.values() if count == self._num_steps]
        if not found:
            raise ValueError(unseen("TeaCache", "the input of the first block"))
        return {name: torch.cat([sample[name] for sample in found]) for name in ("x", "y")}


class SenCacheSample(Sample):
    """Slopes between consecutive steps, of the leader branch.

    Both evaluations of a pair of steps are made at the second one, with its prompt. The last step's
    neighbor is the one before, so its slopes take those of that pair.
    """

    def __init__(self, num_steps: int) -> None:
        self._num_steps = num_steps
        self._slopes: list[Sensitivity] = []
        self._before: tuple[Tensor, float, Tensor] | None = None

    def branch(self, observed: Observed) -> None:
        if observed.branch != 0:
            return
        at_step, velocity = observed.gate_input, observed.velocity
        latent, sigma = at_step.latent, at_step.sigma
        assert latent is not None
        if self._before is not None:
            z, level, v = self._before
            there, then = observed.again(latent, level), observed.again(z, sigma)
            pair = sensitivity(v, there, then, (z, latent), (level, sigma))
            turned = sensitivity(velocity, then, there, (latent, z), (sigma, level))
            # The newest is that of the run's last step, unless another follows.
            self._slopes[-1:] = [pair, turned]
        self._before = latent, sigma, velocity

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        if len(self._slopes) != self._num_steps:
            raise ValueError(unseen("SenCache", "the positive prompt"))
        return sample_of(self._slopes)


class MagCacheSample(Sample):
    """Ratios of residuals, of every branch."""

    def __init__(self, num_steps: int) -> None:
        self._num_steps, self._ratios = num_steps, Ratios()

    def branch(self, observed: Observed) -> None:
        if observed.residual is not None:
            self._ratios.add(str(observed.branch), observed.residual)

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        found = self._ratios.sample()
        whole = {branch: r for branch, r in found.items() if len(r) == self._num_steps}
        if "0" not in whole:
            raise ValueError(unseen("MagCache", "what the blocks add"))
        return {"0": whole["0"]}
