import math
from dataclasses import dataclass

import pytest

from gph_core.gates.accumulating import DiCache
from gph_core.gates.base import Gate, GateInput, Look, check_threshold


@dataclass(frozen=True)
class Noted(Gate):
    """It takes a step's noise level as its value and keeps the steps that were full."""

    threshold: float

    look = Look.LATENT

    def signal(self, gate_input, forced):
        return gate_input

    def value(self, state, signal):
        return signal.sigma

    def after(self, state, signal, value, is_cached):
        return (state or ()) if is_cached else (*(state or ()), signal.step)


def test_a_step_is_cached_below_the_threshold_and_not_at_it():
    assert [Noted(0.5).step(None, GateInput(3, sigma)).is_cached for sigma in (0.4, 0.5, 0.6)] == [
        True,
        False,
        False,
    ]


def test_a_forced_step_is_full_and_its_value_is_returned():
    assert Noted(0.5).step((1,), GateInput(3, 0.4), forced=True) == ((1, 3), 0.4, False)


@pytest.mark.parametrize("broken", [math.inf, -math.inf])
def test_an_infinite_value_is_full_at_any_threshold(broken):
    assert Noted(math.inf).step(None, GateInput(3, broken)) == ((3,), math.inf, False)


def test_a_value_that_is_no_number_is_full_at_any_threshold_and_returned():
    step = Noted(math.inf).step(None, GateInput(3, math.nan))
    assert (step.state, step.is_cached) == ((3,), False)
    assert math.isnan(step.value)


@pytest.mark.parametrize("threshold", [0, 0.0, 3, 0.25, math.inf])
def test_numbers_from_zero_on_are_thresholds(threshold):
    check_threshold(threshold)
    assert DiCache(threshold).threshold == threshold


@pytest.mark.parametrize("threshold", [-1, -0.1, math.nan, -math.inf, "0.3", None, True, [1]])
def test_nothing_else_is_a_threshold(threshold):
    with pytest.raises(ValueError, match="a threshold is a number from 0 on, got"):
        DiCache(threshold)
