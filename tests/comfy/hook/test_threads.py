"""hook/model_call: two threads that sample the same weights at once get what each gets alone."""

import contextlib
import sys
import traceback

import comfy.model_base
import comfy.model_management
import comfy.sample
import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor

from ...support.comfy import tiny
from ...support.comfy.threads import assert_same_modules, modules, together

ROUNDS = 3
RACES = {
    AttributeError: [comfy.model_base, comfy.samplers],  # a model has no patcher any more
    IndexError: [comfy.model_management],  # the list of loaded models has shrunk
}


@pytest.fixture(autouse=True)
def frequent_switches():
    """Threads take turns twenty times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 20)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture(scope="module")
def noise():
    # Drawn beforehand: threads would share the generator.
    return comfy.sample.prepare_noise(torch.zeros(1, 16, 8, 8), seed=1)


def assert_alone(jobs, expected):
    """Nothing is left behind: each job alone gives what it gave at first."""
    assert all(torch.equal(job(), wanted) for job, wanted in zip(jobs, expected, strict=True))


@pytest.mark.parametrize(
    ("policies", "same"),
    [((Reuse(), Reuse()), True), ((TwoAnchor(), Taylor(1)), False)],
    ids=["one node", "two nodes"],
)
def test_two_cached_runs_are_what_each_is_alone(model, noise, policies, same):
    before = modules(model)
    one = tiny.attach(model, "0-2,5/8", policies[0])
    other = one if same else tiny.attach(model, "0-2,5,9/12", policies[1])
    # Prompts of two lengths: several calls in each evaluation.
    jobs = (
        lambda: tiny.sample(one, noise=noise),
        lambda: tiny.sample(other, 8 if same else 12, noise=noise, negative_tokens=7),
    )
    expected = [job() for job in jobs]
    for _ in range(ROUNDS):
        for found, wanted in zip(together(*jobs), expected, strict=True):
            assert torch.equal(found, wanted)
    assert_same_modules(model, before)
    assert_alone(jobs, expected)


def is_comfyuis_race(result):
    """Whether one run took from the other what ComfyUI keeps of loaded models; it does so without
    us, too.
    """
    if not isinstance(result, Exception):
        return False
    *_, innermost = traceback.extract_tb(result.__traceback__)
    return innermost.filename in [module.__file__ for module in RACES.get(type(result), [])]


@pytest.mark.parametrize(
    ("policy", "plain_steps"),
    [(Reuse(), 5), pytest.param(TwoAnchor(), 12, marks=pytest.mark.long)],
    ids=["plain ends first", "cached ends first"],
)
def test_a_cached_and_a_plain_run_are_what_each_is_alone(model, noise, policy, plain_steps):
    before = modules(model)
    patched = tiny.attach(model, "0-2,5/8", policy)
    jobs = (
        lambda: tiny.sample(patched, 8, noise=noise, negative_tokens=7),
        lambda: tiny.sample(model, plain_steps, noise=noise, negative_tokens=7),
    )
    expected = [job() for job in jobs]
    compared = 0
    for _ in range(10 * ROUNDS):
        found = together(*jobs)
        if not any(map(is_comfyuis_race, found)):
            assert all(map(torch.equal, found, expected))
            compared += 1
        if compared == ROUNDS:
            break
    assert compared
    assert_same_modules(model, before)
    assert_alone(jobs, expected)


def test_an_error_in_one_thread_does_not_hold_up_the_other(model, noise):
    patched = tiny.attach(model, "0-2,5/8")
    expected = tiny.sample(patched, noise=noise)

    def fail():
        def callback(step, *args):
            raise RuntimeError("stopped")

        with contextlib.suppress(RuntimeError):
            tiny.sample(patched, noise=noise, callback=callback)

    for _ in range(ROUNDS):
        assert torch.equal(together(fail, lambda: tiny.sample(patched, noise=noise))[1], expected)
    assert_alone([lambda: tiny.sample(patched, noise=noise)], [expected])


def test_a_run_within_another_on_the_same_weights_goes_on_at_once(model, noise):
    patched = tiny.attach(model, "0-2,5/8")
    expected, found = tiny.sample(patched, noise=noise), []

    def callback(step, *args):
        if step == 3:
            found.append(tiny.sample(patched, noise=noise))

    outer = tiny.sample(patched, noise=noise, callback=callback)
    assert torch.equal(found[0], expected)
    assert torch.equal(outer, expected)
