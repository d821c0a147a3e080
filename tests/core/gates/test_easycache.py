import math

import pytest
import torch

from gph_core.gates.base import GateInput
from gph_core.gates.easycache import EasyCache
from gph_core.policies.base import Anchor, Now
from gph_core.policies.reuse import OffsetReuse

from ...support.made_steps import constants, kinds


def outputs(values):
    return [torch.full((1, 2, 3), float(value)) for value in values]


def test_the_output_is_expected_to_follow_the_input_as_before():
    gate = EasyCache(0.3)
    inputs, given = constants([0, 1, 2, 3.5], "latent"), outputs([10, 12, 0, 16])
    state, values = None, []
    for n, at_step in enumerate(inputs):
        state, value, is_cached = gate.step(state, at_step)
        values.append(value)
        if not is_cached:
            state = gate.computed(state, at_step, given[n])
    # κ = 2 / 1 after step 1. Step 2 moves 1: 2 / 12. Step 3 moves 1.5, from the cached step 2.
    assert values == pytest.approx([math.inf, math.inf, 2 / 12, 2 / 12 + 3 / 12])
    # Step 3 was full: κ = 4 / 2.5 between it and step 1, and the next sum is of 16.
    after = GateInput(4, 0.1, latent=torch.full((1, 2, 3), 4.5))
    assert gate.step(state, after).value == pytest.approx(1.6 / 16)


def test_the_first_two_full_steps_come_first():
    inputs, given = constants(range(8), "latent"), outputs(range(10, 18))
    assert kinds(EasyCache(math.inf), inputs, (), given) == "00111111"


def test_a_latent_that_did_not_move_is_followed_by_a_full_step():
    # The same noise level twice, as in samplers of second order, and an output that differs.
    inputs, given = constants([1, 1, 2, 3, 4], "latent"), outputs([1, 2, 3, 4, 5])
    assert kinds(EasyCache(0.5), inputs, (), given) == "00010"


def test_the_velocity_keeps_its_distance_to_the_latent():
    def full(value):
        return torch.full((2, 3), value)

    anchor = Anchor(3, 0.5, (full(12.0),), full(1.0))
    (found,) = OffsetReuse().predict([anchor], Now(4, 0.4, 0.3, full(2.0)))
    assert torch.equal(found, full(13.0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_the_dtype_of_the_velocity_is_kept(dtype):
    one = torch.ones(2, 3, dtype=dtype)
    anchor = Anchor(3, 0.5, (one,), one)
    (found,) = OffsetReuse().predict([anchor], Now(4, 0.4, 0.3, one.float()))
    assert found.dtype is dtype
