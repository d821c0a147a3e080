"""Samples for planned methods: products of outputs, and costs of jumps between steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import comfy.model_management
import torch
from torch import Tensor

from ...gph_core.planning.dpcache import JUMP_SHARE, jump_costs
from ...gph_core.planning.meancache import edge_costs
from ...gph_core.policies.linear_fit import gram
from ..hook.observing import Observed
from .calibration_samples import Sample, unseen

CPU = torch.device("cpu")
Value = TypeVar("Value")

# Steps that DPCache's costs reach at least: 20 steps with 4 full need a jump of 17.
LONGEST_JUMP = 20


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
            raise ValueError(unseen("L2P", "the outputs of the prompts"))
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
            if needed > cast(int, comfy.model_management.get_free_memory(CPU)):
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
            raise ValueError(unseen("DPCache", "what the blocks add"))
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
        if cast(int, management.get_free_memory(self._device)) < needed:
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
                "MeanCache needs a sampler that calls the model once per step; this one made "
                f"{len(self._velocities)} calls in {len(self._sigmas) - 1} steps: choose euler"
            )
        states = [*self._states, last.to(CPU)]
        return {"costs": edge_costs(states, self._velocities, self._sigmas)}


def _whole(by_branch: Mapping[int, list[Value]], num_steps: int) -> list[list[Value]]:
    """Complete branches, which were there from the first to the last step."""
    return [values for values in by_branch.values() if len(values) == num_steps]
