"""Samples for each method's fit: tensors of one example, taken during its full run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

import comfy.model_management
import torch
from torch import Tensor

from ...gph_core.calibration.polynomial import Changes
from ...gph_core.calibration.residual_ratios import Ratios
from ...gph_core.calibration.sensitivities import Sensitivity, sample_of, sensitivity
from ...gph_core.planning.dpcache import JUMP_SHARE, jump_costs
from ...gph_core.planning.meancache import edge_costs
from ...gph_core.policies.linear_fit import gram
from ..hook.observing import Observed

CPU = torch.device("cpu")
Value = TypeVar("Value")


# Steps that DPCache's costs reach at least: 20 steps with 4 full need a jump of 17.
LONGEST_JUMP = 20


class Sample(ABC):
    """Collector of what one method needs; it gets each step of each branch once, in order."""

    def branch(self, observed: Observed) -> None:  # noqa: B027 - most need one of both alone
        """See ``Watcher``."""

    def step(self, latent: Tensor, velocity: Tensor) -> None:  # noqa: B027
        """Take a guided velocity, at each evaluation of the model."""

    @abstractmethod
    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        """Tensors of the whole run; ``ValueError`` if the method cannot be calibrated on it.

        Args:
            last: the state after the last step.
        """


class Together:
    """Watcher that passes what it sees on to several samples.

    Evaluations between two steps are left out, and all but the first one of a step, as gates do.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples
        self._told: set[tuple[int, int]] = set()

    def branch(self, observed: Observed) -> None:
        step = observed.seen.step
        if step is None or (observed.branch, step) in self._told:
            return
        self._told.add((observed.branch, step))
        for sample in self._samples:
            sample.branch(observed)

    def step(self, step: int, latent: Tensor, velocity: Tensor) -> None:
        for sample in self._samples:
            sample.step(latent, velocity)


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
        seen = observed.seen
        signal = seen.modulated if self._times is None else self._times[seen.step][None]
        if signal is not None:
            self._changes[observed.branch].add(observed.branch, signal, observed.velocity)
            self._steps[observed.branch] += 1

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        counted = {b: (c, self._steps[b]) for b, c in self._changes.items()}
        found = [c.sample() for c, count in counted.values() if count == self._num_steps]
        if not found:
            raise ValueError(_unseen("TeaCache", "the input of the first block"))
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
        latent, sigma, velocity = observed.seen.latent, observed.seen.sigma, observed.velocity
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
            raise ValueError(_unseen("SenCache", "the positive prompt"))
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
            raise ValueError(_unseen("MagCache", "what the blocks add"))
        return {"0": whole["0"]}


class L2PSample(Sample):
    """Products of outputs, summed over the branches."""

    def __init__(self, num_steps: int) -> None:
        self._num_steps = num_steps
        self._outputs: dict[int, list[Tensor]] = defaultdict(list)

    def branch(self, observed: Observed) -> None:
        self._outputs[observed.branch].append(observed.velocity.to(CPU))

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        whole = _whole(self._outputs, self._num_steps)
        if not whole:
            raise ValueError(_unseen("L2P", "the outputs of the prompts"))
        return {"gram": torch.stack([gram(outputs) for outputs in whole]).sum(0)}


class DPCacheSample(Sample):
    """Costs of jumps, from the tokens after the last block, of the leader branch.

    The tokens wait in main memory; where that is too small, none is kept.
    """

    def __init__(self, num_steps: int) -> None:
        self._num_steps = num_steps
        self._tokens: list[Tensor] = []
        self._device = CPU
        self._too_large = ""

    def branch(self, observed: Observed) -> None:
        if (
            self._too_large
            or observed.branch != 0
            or observed.residual is None
            or observed.tokens is None
        ):
            return
        before, added = observed.tokens, observed.residual
        if not self._tokens:
            needed = self._num_steps * before.nbytes
            if needed > comfy.model_management.get_free_memory(CPU):
                # The run goes on for the other methods.
                self._too_large = (
                    f"DPCache compares the tokens of all steps, {needed / 2**30:.1f} GiB, which do "
                    "not fit into main memory; use a smaller size, or calibrate another method"
                )
                return
        # The sum is what the blocks gave, so their dtype holds it.
        after = (before.float() + added.float()).to(before.dtype)
        self._tokens.append(after.to(CPU))
        self._device = before.device

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        if self._too_large:
            raise ValueError(self._too_large)
        if len(self._tokens) != self._num_steps:
            raise ValueError(_unseen("DPCache", "what the blocks add"))
        reach = max(int(JUMP_SHARE * self._num_steps), LONGEST_JUMP)
        return {"costs": jump_costs(self._on_the_device(), reach)}

    def _on_the_device(self) -> list[Tensor]:
        """Tokens where thousands of comparisons are fast: on the device, if they fit there."""
        management = comfy.model_management
        # Some are widened to float32 on the way, and one more is predicted.
        needed = sum(t.nbytes for t in self._tokens) + 8 * 4 * self._tokens[0].numel()
        if self._device == CPU:
            return self._tokens
        management.free_memory(needed, self._device)
        if management.get_free_memory(self._device) < needed:
            return self._tokens
        return [tokens.to(self._device) for tokens in self._tokens]


class MeanCacheSample(Sample):
    """Costs of jumps, from states and guided velocities."""

    def __init__(self, sigmas: Sequence[float]) -> None:
        self._sigmas = sigmas
        self._states: list[Tensor] = []
        self._velocities: list[Tensor] = []

    def step(self, latent: Tensor, velocity: Tensor) -> None:
        self._states.append(latent.to(CPU))
        self._velocities.append(velocity.to(CPU))

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        if len(self._velocities) != len(self._sigmas) - 1:
            raise ValueError(
                f"MeanCache needs a sampler that calls the model once a step; this one made "
                f"{len(self._velocities)} calls in {len(self._sigmas) - 1} steps: choose euler"
            )
        states = [*self._states, last.to(CPU)]
        return {"costs": edge_costs(states, self._velocities, self._sigmas)}


def _whole(by_branch: Mapping[int, list[Value]], num_steps: int) -> list[list[Value]]:
    """Complete branches, which were there from the first to the last step."""
    return [values for values in by_branch.values() if len(values) == num_steps]


def _unseen(method: str, what: str) -> str:
    return (
        f"{method} cannot be calibrated in this workflow: {what} could not be observed at every "
        "step; take out what replaces the model's blocks or changes the prompts on the way, or "
        "calibrate another method"
    )
