"""hook/compatibility: what a gate cannot do is said before the run, with what helps."""

import math

import comfy.ldm.flux.model
import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.calibration.entry import Calibration
from golden_path_pack.gph_core.calibration.threshold import FoundThreshold
from golden_path_pack.gph_core.experiments.candidates import LineUp
from golden_path_pack.gph_core.experiments.ratio import calibrate_ratio
from golden_path_pack.gph_core.methods.method import settings_of
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.run_plan import by_speed, setting_of
from golden_path_pack.nodes.calibrate.calibration_runs import CalibrationRuns
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.workload import Workload, guider_for

from ...support.comfy import tiny
from ...support.comfy.gated import CASES, FLUX, STEPS, plan
from ...support.zoo import zoo

LOOKING = ["SeaCache", "TeaCache", "DiCache", "First Block Cache"]


def listened(model, the_plan):
    listener = tiny.Listener()
    found = tiny.sample(patching.attach(model, the_plan, listener))
    (record,) = listener.records
    return found, record, listener.refusals


def assert_refused(model, the_plan, *reason):
    """The run is the model's own, and the reason is said once."""
    found, record, refusals = listened(model, the_plan)
    assert torch.equal(found, tiny.sample(model))
    assert record.cached_steps == ()
    assert refusals == ["".join(reason)]
    assert record.notes == (f"this node caches nothing: {refusals[0]}",)


def assert_cached(model, the_plan):
    """What the message advises helps."""
    _, record, refusals = listened(model, the_plan)
    assert refusals == []
    assert record.cached_steps


@pytest.fixture(scope="module")
def foreign():
    """A MODEL of a class that nobody knows."""

    class Foreign(comfy.ldm.flux.model.Flux):
        pass

    model = tiny.flux()
    model.model.diffusion_model.__class__ = Foreign
    return model


@pytest.mark.parametrize("name", ["SeaCache", "EasyCache"])
def test_several_devices_are_refused(model, name):
    several = model.clone()
    several.set_additional_models("multigpu", [model.clone()])
    assert_refused(
        several,
        plan(name, FLUX, 1e9),
        f"{name} decides on one prompt before the others are computed, but several devices "
        "compute them at once; use one device, or Golden Path Cache",
    )
    assert_cached(model, plan(name, FLUX, 1e9))
    assert_cached(several, by_speed("Balanced", Reuse(), user_paths.every))


def test_a_method_that_settles_its_schedule_before_runs_on_several_devices(model):
    several = model.clone()
    several.set_additional_models("multigpu", [model.clone()])
    assert_cached(several, plan("MagCache", FLUX, 1e9))


@pytest.mark.parametrize("name", ["TeaCache", "DiCache"])
def test_a_method_that_looks_into_an_unknown_transformer_is_refused(foreign, name):
    assert_refused(
        foreign,
        plan(name, FLUX, 1e9),
        "Foreign is not a supported transformer (docs/models.md lists them); use an output or "
        "velocity policy, a path with fitted weights, or EasyCache: these work with any model",
    )
    assert_refused(
        foreign,
        plan(name, FLUX, 1e9, Reuse(Site.OUTPUT)),
        f"{name} looks into the transformer, but Foreign is not a supported one (docs/models.md "
        "lists them); EasyCache works with any model",
    )
    assert_cached(foreign, plan("EasyCache", FLUX, 1e9))


def assert_needs(model, name, policy, other, reason):
    """A method refuses a policy with a reason, and the other one helps."""
    assert_refused(model, plan(name, FLUX, 1e9, policy), reason)
    assert_cached(model, plan(name, FLUX, 1e9, other))


@pytest.mark.parametrize(
    ("name", "policy"), [("TeaCache", Reuse(Site.OUTPUT)), ("DiCache", Reuse(Site.GUIDED))], ids=str
)
def test_a_method_that_looks_into_the_first_block_needs_a_residual_policy(model, name, policy):
    reason = (
        f"{name} looks into the first block, which {policy} does not run on cached steps; connect "
        "a residual policy, or none"
    )
    assert_needs(model, name, policy, Reuse(), reason)
    assert_cached(model, plan(name, FLUX, 1e9))


@pytest.mark.parametrize("policy", [Reuse(), Reuse(Site.GUIDED)], ids=str)
def test_a_method_that_reads_outputs_needs_an_output_policy(model, policy):
    reason = (
        f"EasyCache needs the outputs for each prompt, which {policy} does not keep; connect an "
        "output policy, or none"
    )
    assert_needs(model, "EasyCache", policy, Reuse(Site.OUTPUT), reason)
    assert_cached(model, plan("EasyCache", FLUX, 1e9))


def test_a_method_that_looks_at_latents_needs_a_policy_for_each_prompt(model, foreign):
    policy = Reuse(Site.GUIDED)
    reason = (
        f"SenCache decides on one prompt, but {policy} sees the result of guidance only; connect "
        "an output policy"
    )
    for any_model in (model, foreign):
        assert_needs(any_model, "SenCache", policy, Reuse(Site.OUTPUT), reason)


def test_a_first_block_that_a_model_leaves_out_cannot_be_looked_into():
    case = CASES["Chroma"]
    model = zoo.build(case)
    model.model.diffusion_model.skip_mmdit = [0]

    def record_of(name):
        listener = tiny.Listener()
        found = zoo.sample(case, patching.attach(model, plan(name, case, 1e9), listener), STEPS)
        return found, listener.records[0]

    (plain,) = zoo.sample(case, model, STEPS)
    for name in LOOKING:
        (found,), record = record_of(name)
        assert torch.equal(found, plain)
        assert record.caching_stopped == (
            "caching stopped because what the adaptive method looks at could not be observed; "
            "choose EasyCache, which looks at latents and outputs alone"
        )
        assert record.cached_steps == ()
    assert record_of("EasyCache")[1].cached_steps  # as advised


# --- where nothing would be sampled ---------------------------------------------------------------


def workload(case):
    model = zoo.build(case)
    prompts = case.conditioning(1, 5), case.conditioning(2, 5)
    examples = (Example("", *prompts, 1),)
    return Workload(
        guider_for(model, None, 3.0, examples[0]), examples, {"samples": zoo.empty_latent(case)},
        comfy.samplers.sampler_object("euler"), zoo.sigmas(model, STEPS),
    )  # fmt: skip


UNKNOWN = (
    "what SeaCache looks at is not known for Lumina 2 / Z-Image (docs/methods.md lists the "
    "families); DiCache and First Block Cache work with it"
)


def test_no_threshold_is_sought_where_a_gate_cannot_decide():
    row, work = ALL["SeaCache"], workload(CASES["Z-Image"])
    with torch.inference_mode(), pytest.raises(ValueError, match="no threshold in this") as raised:
        calibrate_ratio(work, CalibrationRuns(work).under, row, row.policy, 4)
    assert str(raised.value) == f"SeaCache has no threshold in this workflow: {UNKNOWN}"


def test_a_gate_that_cannot_decide_takes_no_part_in_a_comparison():
    work = workload(CASES["Z-Image"])
    found = FoundThreshold(4, 0.5, 0.0, math.inf, (4,), 1, "")
    row, run = ALL["SeaCache"], work.setup.known(Reuse())
    setting = setting_of(run, 4)
    settings = settings_of(row, setting, row.policy)
    entry = Calibration("SeaCache", work.setup.conditions).with_threshold(settings, found)
    taking_part, absent = LineUp(work.setup, 4, {"SeaCache": entry}, Reuse(), (), str).candidates(
        ["SeaCache", "uniform"], {}
    )
    assert [candidate.name for candidate in taking_part] == ["full", "uniform"]
    assert absent == {"SeaCache": UNKNOWN}
