"""One suite that every gate passes, on top of ``base``."""

import math
from dataclasses import replace

import pytest
import torch

from gph_core.gates.accumulating import DeltaMinus, DiCache, SeaCache, TeaCache
from gph_core.gates.base import Look
from gph_core.gates.coefficients import Polynomial
from gph_core.gates.easycache import EasyCache
from gph_core.gates.first_block import FirstBlockCache
from gph_core.gates.sensitivity import SenCache, Sensitivities

from ...support.made_steps import made_steps

LINE = Polynomial((1.0, 0.0))  # the change itself, so that a mean of changes stays a mean
TABLE = Sensitivities((1.0, 0.5, 0.0), (0.5, 0.7, 0.9), (2.0, 1.5, 1.0))
GATES = {
    "TeaCache": lambda threshold: TeaCache(threshold, LINE),
    "TeaCache, exact": lambda threshold: TeaCache(threshold, LINE, exact=True),
    "SeaCache": SeaCache,
    "SeaCache, raw": lambda threshold: SeaCache(threshold, raw_if_forced=True),
    "SenCache": lambda threshold: SenCache(threshold, TABLE, max_cached=None),
    "SenCache, start": lambda threshold: SenCache(threshold, TABLE, start_steps=1),
    "DiCache": DiCache,
    "delta minus": DeltaMinus,
    "EasyCache": EasyCache,
    "first block": FirstBlockCache,
}
TENSORS = ("latent", "modulated", "tokens", "probe")


@pytest.fixture(params=GATES.values(), ids=GATES.keys())
def make(request):
    return request.param


def run(gate, inputs, outputs, forced=(), state=None):
    """All steps, each with the state that it began with."""
    steps = []
    for n, at_step in enumerate(inputs):
        step = gate.step(state, at_step, n in forced)
        steps.append((state, step))
        state = step.state
        if not step.is_cached and gate.reads_outputs:
            state = gate.computed(state, at_step, outputs[n])
    return steps


def bits(steps):
    return "".join("1" if step.is_cached else "0" for _, step in steps)


def values(make, *args, **options):
    """The value of each step in a run without a cached step."""
    return [step.value for _, step in run(make(0), *made_steps(*args, **options))]


def test_the_first_step_is_full_at_any_threshold(make):
    inputs, _ = made_steps()
    assert make(math.inf).step(None, inputs[0])[1:] == (math.inf, False)


def test_threshold_zero_caches_nothing(make):
    assert bits(run(make(0), *made_steps())) == "00000000"


def test_an_infinite_threshold_caches_what_is_not_forced(make):
    assert bits(run(make(math.inf), *made_steps(), forced={0, 1, 4, 7})) == "00110110"


def test_a_step_is_cached_exactly_below_the_threshold(make):
    middle = sorted(values(make))[3]
    kinds = set()
    for _, step in run(make(middle), *made_steps()):
        assert step.is_cached == (step.value < middle)
        kinds.add(step.is_cached)
    assert kinds == {True, False}


def test_a_forced_step_changes_the_decision_alone(make):
    inputs, outputs = made_steps()
    steps = run(make(math.inf), inputs, outputs, forced={0, 1})
    state, free = steps[3]
    forced = make(math.inf).step(state, inputs[3], forced=True)
    assert free.is_cached
    assert not forced.is_cached
    assert math.isfinite(forced.value)


def test_the_same_state_gives_the_same_step_again(make):
    inputs, outputs = made_steps()
    gate = make(sorted(values(make))[3])
    before = [{name: getattr(s, name).clone() for name in TENSORS} for s in inputs]
    steps = run(gate, inputs, outputs)
    # From every state of the run, after it all: nothing was changed in place.
    for n, (state, _) in enumerate(steps):
        again = [step[1:] for _, step in run(gate, inputs[n:], outputs[n:], state=state)]
        assert again == [step[1:] for _, step in steps[n:]]
    for at_step, copies in zip(inputs, before, strict=True):
        assert all(torch.equal(getattr(at_step, name), copies[name]) for name in TENSORS)


def test_it_looks_no_further_than_it_says(make):
    gate = make(sorted(values(make))[3])
    shown = {
        Look.LATENT: {"latent"},
        Look.MODULATED: {"latent", "modulated", "tokens"},
        Look.FIRST_BLOCK: {"latent", "modulated", "tokens", "probe"},
    }[gate.look]
    inputs, outputs = made_steps()
    less = [replace(s, **dict.fromkeys(set(TENSORS) - shown)) for s in inputs]
    assert bits(run(gate, less, outputs)) == bits(run(gate, inputs, outputs))


def test_a_batch_has_the_mean_of_its_samples(make):
    both = made_steps(batch=2)

    def sample(n):
        (inputs, outputs), part = both, slice(n, n + 1)
        own = [replace(s, **{name: getattr(s, name)[part] for name in TENSORS}) for s in inputs]
        return [step.value for _, step in run(make(0), own, [o[part] for o in outputs])]

    together = [step.value for _, step in run(make(0), *both)]
    expected = [(a + b) / 2 for a, b in zip(sample(0), sample(1), strict=True)]
    assert sample(0) != sample(1)
    assert together == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_comes_close(make, dtype):
    # The values are about 0.05 and tensors are rounded by up to 0.004 of their size.
    found, exact = values(make, dtype=dtype), values(make)
    assert found[2:] == pytest.approx(exact[2:], rel=0.1, abs=0.002)


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_broken_step_is_full_and_forgotten_soon(make, broken):
    inputs, outputs = made_steps(12)
    inputs[4] = replace(inputs[4], **{name: getattr(inputs[4], name) * broken for name in TENSORS})
    found = bits(run(make(math.inf), inputs, outputs, forced={0, 1}))
    assert found[:5] == "00110"
    # EasyCache needs two sound full steps again, which the third after it is at the latest.
    assert found[8:] == "1111"


def test_another_resolution_is_computed_in_full(make):
    inputs, outputs = made_steps()
    steps = run(make(math.inf), inputs, outputs, forced={0, 1})
    doubled = {name: torch.cat((getattr(inputs[5], name),) * 2, dim=1) for name in TENSORS}
    other = replace(inputs[5], **doubled, grid=(8, 6))
    assert make(math.inf).step(steps[5][0], other)[1:] == (math.inf, False)
