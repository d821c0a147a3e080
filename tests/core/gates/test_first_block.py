import math

import pytest
import torch

from gph_core.gates.base import GateInput
from gph_core.gates.first_block import FirstBlockCache
from gph_core.policies.reuse import RestReuse

from ...support.made_steps import kinds


def tokens(value, dtype=torch.float32):
    return torch.full((1, 2, 3), value, dtype=dtype)


def gate_input(step, before, residual):
    return GateInput(step, 0.5, tokens=tokens(before), probe=tokens(before + residual))


def test_the_residual_is_compared_with_that_of_the_newest_full_step():
    gate = FirstBlockCache(0.25)
    # Whatever the block receives; 1.25 is 0.25 away from 1, which is not below the threshold.
    residuals = [1.0, 1.125, 1.125, 0.875, 1.25, 1.5, 1.0]
    steps = [gate_input(n, 100.0 - n, r) for n, r in enumerate(residuals)]
    assert kinds(gate, steps, forced=()) == "0111011"
    state, values = None, []
    for at_step in steps:
        state, value, _ = gate.step(state, at_step)
        values.append(value)
    assert values == pytest.approx([math.inf, 0.125, 0.125, 0.125, 0.25, 0.2, 0.2])


def test_a_forced_step_is_the_next_ones_reference():
    steps = [gate_input(n, 0.0, r) for n, r in enumerate([1.0, 2.0, 2.0])]
    assert kinds(FirstBlockCache(0.5), steps, forced={1}) == "001"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_other_blocks_do_as_before(dtype):
    def like(value):
        return tokens(value, dtype)

    # All blocks added 10 of which the first 1.5; now that one adds 2.
    found = RestReuse().extrapolate(like(2.0), (like(1.5), like(7.0)), (like(10.0), like(99.0)))
    assert torch.equal(found, like(10.5))
