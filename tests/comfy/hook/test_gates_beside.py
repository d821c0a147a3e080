"""gates/gating: adaptive methods beside samplers, controls, windows and other patches."""

import dataclasses

import pytest
import torch
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.nodes.hook import patching

from ...support.comfy import tiny
from ...support.comfy.extensions import CountedControl, controlled, scales_tokens, skips_the_block
from ...support.comfy.gated import CASES, FEW, FLUX, STEPS, plan, sampled_both_ways
from ...support.comfy.sampled import BETWEEN_STEPS, windowed
from ...support.zoo import zoo

NO_ANCHOR = "steps were computed in full because a branch had no anchor yet"
TOOK_OVER = (
    "steps were computed in full where another prompt or context window came first, which decides "
    "from then on"
)


def as_fixed(name, record, model):
    """The MODEL under the schedule that a method chose."""
    return tiny.attach(model, record.schedule, ALL[name].policy)


# --- samplers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sampler"),
    [("SeaCache", "heun"), ("EasyCache", "heun"), ("DiCache", "dpm_2"), ("SenCache", "dpm_2")],
)
def test_a_sampler_of_two_calls_a_step_meets_what_was_decided_at_the_first(model, name, sampler):
    def sample(patched):
        return tiny.sample(patched, sampler=sampler)

    _, found, record = sampled_both_ways(name, model, sample)
    assert torch.equal(found, sample(as_fixed(name, record, model)))
    assert record.refused_steps == ()
    assert {*record.notes} == {FEW, *([BETWEEN_STEPS] if sampler == "dpm_2" else [])}


@pytest.mark.parametrize("name", ["DiCache", "EasyCache"])
def test_heunpp2_computes_in_full_what_the_rule_says_alone(model, name):
    # It looks two steps ahead and goes back, often across a full step.
    _, _, record = sampled_both_ways(name, model, lambda m: tiny.sample(m, sampler="heunpp2"))
    assert record.refused_steps == ()
    assert record.notes == (FEW,)


# --- controls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SeaCache", "DiCache", "EasyCache"])
def test_a_control_is_evaluated_on_full_steps_only(model, name):
    control = CountedControl()

    def sample(patched):
        control.calls = 0
        return controlled(patched, control)

    _, found, record = sampled_both_ways(name, model, sample)
    assert control.calls == len(record.full_steps)  # a look goes without
    assert torch.equal(found, sample(as_fixed(name, record, model)))
    assert record.notes == (FEW,)


@pytest.mark.parametrize("name", ["TeaCache", "DiCache", "SenCache"])
def test_a_control_that_begins_makes_its_step_full(model, name):
    listener = tiny.Listener()
    patched = patching.attach(model, plan(name, FLUX, 1e9), listener)
    found = controlled(patched, CountedControl(0.6, 0.0))
    (record,) = listener.records
    begun = next(n for n, sigma in enumerate(record.sigmas) if sigma <= 0.6)
    assert begun in record.full_steps
    assert record.cached_steps
    assert torch.equal(found, controlled(as_fixed(name, record, model), CountedControl(0.6, 0.0)))


# --- context windows ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def video():
    """A MODEL that samples 11 latent frames."""
    case = dataclasses.replace(CASES["Wan 2.1 1.3B"], latent=(16, 11, 4, 4))
    return case, zoo.build(case)


@pytest.mark.parametrize("name", ["SeaCache", "EasyCache"])
def test_the_first_window_decides_for_all(video, name):
    case, model = video

    def sample(patched):
        (found,) = zoo.sample(case, windowed(patched, "standard_static"), STEPS)
        return found

    _, found, record = sampled_both_ways(name, model, sample)
    assert torch.equal(found, sample(as_fixed(name, record, model)))
    assert record.notes == (FEW,)


@pytest.mark.parametrize("name", ["SenCache", "DiCache"])
def test_where_the_first_window_moves_all_is_computed_in_full(video, name):
    case, model = video
    moving, listener = windowed(model, "standard_uniform"), tiny.Listener()
    patched = patching.attach(moving, plan(name, case, 1e9), listener)
    found = zoo.sample(case, patched, STEPS)
    assert zoo.same(found, zoo.sample(case, windowed(model, "standard_uniform"), STEPS))
    (record,) = listener.records
    assert record.cached_steps == ()
    assert record.notes == (FEW, TOOK_OVER, NO_ANCHOR)


# --- a first block that another extension replaced ------------------------------------------------


@pytest.mark.parametrize("name", ["SeaCache", "First Block Cache"])
def test_a_replaced_first_block_is_seen_at_work(model, name):
    replaced = model.clone()
    replaced.set_model_patch_replace(scales_tokens, "dit", "double_block", 0)
    _, found, record = sampled_both_ways(name, replaced, tiny.sample)
    assert torch.equal(found, tiny.sample(as_fixed(name, record, replaced)))
    assert record.notes == (FEW,)


@pytest.mark.parametrize("name", ["SeaCache", "TeaCache"])
def test_a_first_block_that_does_not_run_cannot_be_looked_into(model, name):
    replaced = model.clone()
    replaced.set_model_patch_replace(skips_the_block, "dit", "double_block", 0)
    listener = tiny.Listener()
    found = tiny.sample(patching.attach(replaced, plan(name, FLUX, 1e9), listener))
    assert torch.equal(found, tiny.sample(replaced))
    (record,) = listener.records
    assert record.notes == (
        FEW,
        "caching stopped because what the adaptive method looks at could not be observed; choose "
        "EasyCache, which looks at latents and outputs alone",
    )
    # Which is true.
    easy = plan("EasyCache", FLUX, 1e9)
    listener = tiny.Listener()
    tiny.sample(patching.attach(replaced, easy, listener))
    assert listener.records[0].cached_steps
