import math
from dataclasses import replace

import pytest
import torch

from gph_core.gates.accumulating import DeltaMinus, DiCache, SeaCache, TeaCache, accumulate
from gph_core.gates.coefficients import Polynomial, polynomials
from gph_core.gates.spectral import wiener_filtered

from ...support.made_steps import constants, kinds, made_steps

POLYNOMIALS = {row.model: row.fit for row in polynomials()}
FLUX = POLYNOMIALS["FLUX.1-dev"]
CONSTANT = [0.05] * 16
VARIED = [0, 0.3, 0.25, 0.18, 0.12, 0.1, 0.08, 0.06, 0.05, 0.05, 0.06, 0.08, 0.1, 0.15, 0.22, 0.3]
# Worked through by hand in the method notes; first and last step forced.
PUBLISHED = [
    (CONSTANT, 0.17, "0000000000000000"),
    (CONSTANT, 0.2, "0101010101010100"),
    (CONSTANT, 0.38, "0110110110110110"),
    (CONSTANT, 0.6, "0111011101110110"),
    (CONSTANT, 1.2, "0111111011111100"),
    (VARIED, 0.25, "0000101010101000"),
    (VARIED, 0.38, "0010101101101010"),
    (VARIED, 0.6, "0101101110111010"),
    (VARIED, 1.2, "0111011111101110"),
]


def with_changes(changes):
    """Modulated inputs of which each differs from the one before by a share of its size."""
    sizes = [1.0]
    for change in changes[1:]:
        sizes.append(sizes[-1] * (1 + change))
    return constants(sizes, "modulated")


@pytest.mark.parametrize(("changes", "threshold", "bits"), PUBLISHED)
def test_teacache_follows_a_worked_example(changes, threshold, bits):
    # The polynomial of FLUX is positive throughout, so its guard changes nothing.
    gate = TeaCache(threshold, FLUX)
    assert kinds(gate, with_changes(changes), forced={0, 15}) == bits


def test_known_changes_are_replayed_as_the_gate_goes():
    changes = [math.inf, 0.1, 0.1, math.nan, 0.1, 0.1, 0.1, math.inf, 0.1]
    # Full: the first, the broken ones, and where 0.3 is not below 0.25.
    assert accumulate(changes, 0.25).bits == "011011001"
    assert accumulate(changes, math.inf).bits == "011011101"
    assert accumulate(changes, math.inf, forced={2, 8}).bits == "010011100"
    assert accumulate(changes, 0).bits == "000000000"
    with pytest.raises(ValueError, match="a threshold is a number from 0 on"):
        accumulate(changes, -1)


def test_a_forced_step_clears_the_sum_and_is_the_next_ones_reference():
    steps = with_changes([0, 0.1, 0.1, 0.1])
    gate = TeaCache(1.0, Polynomial((1.0, 0.0)))
    state, values = None, []
    for n, at_step in enumerate(steps):
        state, value, _ = gate.step(state, at_step, forced=n == 2)
        values.append(value)
    # The sum before the forced step is told, the one after it begins anew.
    assert values == pytest.approx([math.inf, 0.1, 0.2, 0.1])


def test_the_guard_keeps_the_polynomial_where_it_was_fitted():
    # 1 - 10 x, fitted from 0.02 to 0.05: 0.8 below, 0.5 above, and never negative.
    fitted = Polynomial((-10.0, 1.0), fitted=(0.02, 0.05))
    changes = [0, 0.01, 0.03, 0.5]

    def values(gate):
        state, found = None, []
        for at_step in with_changes(changes):
            state, value, _ = gate.step(state, at_step)
            found.append(value)
        return found[1:]

    assert values(TeaCache(0, fitted)) == pytest.approx([0.8, 0.7, 0.5], rel=1e-4)
    assert values(TeaCache(0, Polynomial((-10.0, 1.0))))[-1] == 0
    # As it is: 0.9, 0.7 and -4, the last of which is below any threshold.
    assert values(TeaCache(0, fitted, exact=True)) == pytest.approx([0.9, 0.7, -4.0], rel=1e-4)
    assert kinds(TeaCache(0, fitted, exact=True), with_changes(changes)) == "0001"


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_the_guard_lets_no_broken_change_pass(broken):
    steps = constants([1, broken, 1, 1, 1], "modulated")
    gate = TeaCache(math.inf, Polynomial((1.0, 0.0), fitted=(0.01, 0.5)))
    assert kinds(gate, steps, forced=()) == "00011"


def test_seacache_compares_what_each_step_filters_with_its_own_gain():
    inputs, _ = made_steps()
    gate = SeaCache(0)
    first = gate.step(None, inputs[1])
    value = gate.step(first.state, inputs[2]).value
    new, old = (wiener_filtered(s.modulated, s.grid, s.sigma).double() for s in inputs[1:3][::-1])
    assert value == pytest.approx(((new - old).abs().mean() / old.abs().mean()).item(), rel=1e-5)


def test_on_flux_a_forced_step_leaves_its_tokens_unfiltered():
    inputs, _ = made_steps(50)
    raw = SeaCache(1.0, raw_if_forced=True)
    state = raw.step(None, inputs[0], forced=True).state
    assert torch.equal(state.signal, inputs[0].modulated)
    value = raw.step(state, inputs[1]).value
    new = wiener_filtered(inputs[1].modulated, inputs[1].grid, inputs[1].sigma).double()
    old = inputs[0].modulated.double()
    assert value == pytest.approx(((new - old).abs().mean() / old.abs().mean()).item(), rel=1e-5)
    # A step that is full by the rule is filtered, as is a forced one without the option.
    assert not torch.equal(raw.step(state, inputs[1]).state.signal, inputs[1].modulated)
    always = SeaCache(1.0).step(None, inputs[0], forced=True).state
    assert not torch.equal(always.signal, inputs[0].modulated)


def test_dicache_adds_up_what_the_first_block_hands_on():
    # From 2 to 3, 3 to 4.5, 4.5 to 9: 0.5, 0.5 and 1.
    inputs = constants([2, 3, 4.5, 9], "probe")
    state, values = None, []
    for at_step in inputs:
        state, value, _ = DiCache(10).step(state, at_step)
        values.append(value)
    assert values == [math.inf, 0.5, 1.0, 2.0]


def test_delta_minus_adds_up_by_how_much_the_changes_of_input_and_output_differ():
    # Before the block 0.25 and 0.5, behind it 0.5 and 0.1: 0.25, then 0.4 more.
    tokens, probes = constants([4, 5, 7.5], "tokens"), constants([2, 3, 3.3], "probe")
    state, values = None, []
    for before, behind in zip(tokens, probes, strict=True):
        at_step = replace(before, probe=behind.probe)
        state, value, _ = DeltaMinus(10).step(state, at_step)
        values.append(value)
    assert values == pytest.approx([math.inf, 0.25, 0.65])
