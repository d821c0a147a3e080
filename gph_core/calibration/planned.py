"""What planned methods are made of: L2P's products, the costs of DPCache and MeanCache."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..planning.dpcache import JUMP_SHARE, jump_costs
from ..planning.meancache import edge_costs
from ..planning.planners import mean_costs
from ..policies.linear_fit import fit, gram, relative_errors
from ..texts import counted
from .polynomial import HELD_OUT
from .samples import Measured, Observed, RunFacts, Sample, Tensors, whole

CPU = torch.device("cpu")

# Steps that DPCache's costs reach at least: 20 steps with 4 full need a jump of 17.
LONGEST_JUMP = 20


class OutputProducts(Sample):
    """Products of outputs, summed over the branches."""

    def __init__(self, num_steps: int) -> None:
        self._num_steps = num_steps
        self._outputs: dict[int, list[Tensor]] = defaultdict(list)

    def branch(self, observed: Observed) -> None:
        self._outputs[observed.branch].append(observed.velocity.to(CPU))

    def tensors(self, last: Tensor) -> dict[str, Tensor]:
        found = whole(self._outputs, self._num_steps, "L2P", "the outputs of the prompts")
        return {"gram": torch.stack([gram(outputs) for outputs in found]).sum(0)}


class TokenJumps(Sample):
    """Costs of jumps, from the tokens after the last block, of the leader branch.

    The tokens wait in main memory; where that is too small, none is kept.
    """

    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        self._tokens: list[Tensor] = []
        self._device = CPU
        self._too_large = ""

    def branch(self, observed: Observed) -> None:
        before, added = observed.tokens, observed.residual
        if self._too_large or observed.branch != 0 or added is None or before is None:
            return
        needed = self._facts.num_steps * before.nbytes
        if not self._tokens and not self._facts.has_room(needed, CPU):
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
        n = self._facts.num_steps
        (tokens,) = whole({0: self._tokens}, n, "DPCache", "what the blocks add")
        reach = max(int(JUMP_SHARE * n), LONGEST_JUMP)
        return {"costs": jump_costs(self._on_the_device(tokens), reach)}

    def _on_the_device(self, tokens: list[Tensor]) -> list[Tensor]:
        """Tokens where thousands of comparisons are fast: on the device, if they fit there."""
        # Some are widened to float32 on the way, and one more is predicted.
        needed = sum(t.nbytes for t in tokens) + 8 * 4 * tokens[0].numel()
        if self._device == CPU or not self._facts.has_room(needed, self._device):
            return tokens
        return [each.to(self._device) for each in tokens]


class StateJumps(Sample):
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


def products(samples: Sequence[Tensors]) -> Measured:
    """``gram``, the sum over the examples to fit to, ``held_out``, that over a fifth, at least one.

    The report has the mean relative square error of the steps from 1 on, each predicted from the
    outputs of full runs.
    """
    num_held_out = max(1, len(samples) // HELD_OUT)
    num_fit = len(samples) - num_held_out
    if num_fit < 1:
        raise ValueError(
            f"the weights need at least 2 examples, one to check them, got {len(samples)}"
        )
    grams = torch.stack([sample["gram"] for sample in samples])
    fitted, held_out = grams[:num_fit].sum(0), grams[num_fit:].sum(0)
    weights = fit(fitted).matrix
    report = {
        "num_fit": num_fit,
        "num_held_out": num_held_out,
        "error_fit": relative_errors(weights, fitted)[1:].mean().item(),
        "error_held_out": relative_errors(weights, held_out)[1:].mean().item(),
    }
    return Measured({"gram": fitted, "held_out": held_out}, report)


def costs(samples: Sequence[Tensors]) -> Measured:
    """``costs``, the mean over the examples."""
    if not samples:
        raise ValueError("the costs of jumps need at least 1 example, got none")
    mean = mean_costs([sample["costs"] for sample in samples])
    return Measured({"costs": mean}, {"num_examples": len(samples)})


def described(facts: Mapping[str, Any]) -> str:
    """Line from the report of ``products``."""
    return (
        f"weights from {counted(facts['num_fit'], 'example')}, relative squared error "
        f"{facts['error_fit']:.2e}; on {counted(facts['num_held_out'], 'other')} "
        f"{facts['error_held_out']:.2e}"
    )
