import math
from dataclasses import replace

import pytest
import torch

from gph_core.gates.base import GateInput
from gph_core.gates.sensitivity import SenCache, Sensitivities

from ...support.made_steps import kinds

TABLE = Sensitivities((0.5,), (0.5,), (1.0,))


def gate_input(step, sigma, value=0.0, shape=(1, 4)):
    return GateInput(step, sigma, latent=torch.full(shape, value))


@pytest.mark.parametrize(("threshold", "is_cached"), [(0.6, False), (0.601, True)])
def test_the_worked_example(threshold, is_cached):
    # Four elements move by 1 each, so the norm is 2; Jx = 0.5, Jt = 2 = √4 * 1, time moves by 0.1.
    # Λ = 0.5 * 2 + 2 * 0.1 = 1.2, compared with 2 δ.
    gate = SenCache(threshold, TABLE)
    state = gate.step(None, gate_input(0, 0.6)).state
    step = gate.step(state, gate_input(1, 0.5, 1.0))
    assert step.value == pytest.approx(0.6)
    assert step.is_cached == is_cached


def test_the_way_is_measured_from_the_newest_full_step():
    # Jx = 1 and no time: the value is the distance to it, and 0.25 is reached every third step.
    gate = SenCache(0.25, Sensitivities((0.0,), (1.0,), (0.0,)))
    run = [gate_input(n, 0.5, 0.1 * n) for n in range(8)]
    assert kinds(gate, run, forced=()) == "01101101"
    # A way back is no way: sums would go on rising.
    back = [gate_input(n, 0.5, 0.1 * (n % 2)) for n in range(8)]
    assert kinds(gate, back, forced=()) == "01111111"


def test_the_sensitivities_are_those_at_the_newest_full_step():
    gate = SenCache(10, Sensitivities((0.9, 0.5, 0.1), (1.0, 2.0, 3.0), (0.0, 0.0, 0.0)))
    state = gate.step(None, gate_input(0, 0.6)).state
    first = gate.step(state, gate_input(1, 0.1, 1.0))
    second = gate.step(first.state, gate_input(2, 0.9, 1.0))
    assert [first.value, second.value] == [2.0, 2.0]


@pytest.mark.parametrize(
    ("sigma", "expected"), [(1.0, (1, 10)), (0.71, (1, 10)), (0.69, (2, 20)), (0.0, (3, 30))]
)
def test_the_nearest_noise_level_counts(sigma, expected):
    assert Sensitivities((0.9, 0.5, 0.1), (1, 2, 3), (10, 20, 30)).at(sigma) == expected


def test_the_latent_size_does_not_matter():
    gate = SenCache(10, TABLE)
    for shape in [(1, 4), (1, 16, 3, 5), (3, 7)]:
        state = gate.step(None, gate_input(0, 0.6, 0.0, shape)).state
        assert gate.step(state, gate_input(1, 0.5, 1.0, shape)).value == pytest.approx(0.6)


def test_so_many_steps_in_a_row_are_cached():
    run = [gate_input(n, 0.5) for n in range(10)]
    assert kinds(SenCache(1, TABLE, max_cached=3), run, forced=()) == "0111011101"
    assert kinds(SenCache(1, TABLE, max_cached=3), run, forced={0, 2, 9}) == "0101110110"
    assert kinds(SenCache(1, TABLE, max_cached=None), run, forced=()) == "0111111111"
    assert kinds(SenCache(1, TABLE, max_cached=0), run, forced=()) == "0000000000"


def test_the_start_has_a_threshold_of_its_own():
    # 0.05 for each step since the full one, against 0.06 in the first four steps, then 0.11.
    run = [gate_input(n, 0.5, 0.1 * n) for n in range(8)]
    gate = SenCache(0.11, TABLE, start_threshold=0.06, start_steps=4)
    assert kinds(gate, run, forced=()) == "01011011"
    strict = SenCache(math.inf, TABLE, start_threshold=0.005, start_steps=4)
    assert kinds(strict, run, forced=()) == "00001111"
    off = SenCache(math.inf, TABLE, start_threshold=math.inf, start_steps=4)
    assert kinds(off, run, forced=()) == "01111111"
    # It decides there alone: 0.05 is not below 0.03, 0.10 is neither below that nor below 0.06.
    generous = SenCache(0.03, TABLE, start_threshold=0.06, start_steps=4)
    assert kinds(generous, run, forced=()) == "01010000"
    # But a threshold of 0 caches nothing.
    assert kinds(replace(generous, threshold=0.0), run, forced=()) == "00000000"


@pytest.mark.parametrize(
    "table",
    [
        ((), (), ()),
        ((0.5,), (1.0, 2.0), (1.0,)),
        ((0.5,), (1.0,), (-1.0,)),
        ((math.nan,), (1.0,), (1.0,)),
        ((0.5,), (math.inf,), (1.0,)),
    ],
)
def test_other_tables_are_refused(table):
    with pytest.raises(ValueError, match="sensitivities"):
        Sensitivities(*table)


@pytest.mark.parametrize(
    "options", [{"max_cached": -1}, {"start_threshold": -1}, {"start_threshold": math.nan}]
)
def test_other_settings_are_refused(options):
    with pytest.raises(ValueError, match=r"at least 0 steps|threshold of the start"):
        SenCache(0.5, TABLE, **options)
