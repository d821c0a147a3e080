"""A model that docs/models.md does not list: a search fits a path to it, and the speeds find it."""

from dataclasses import replace

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.run_plan import by_speed, fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.schema.types import COUNT
from golden_path_pack.nodes.search.schedule_search import FITTED, ScheduleSearch

from ...support.comfy import tiny
from ...support.comfy.demo_search import once
from ...support.comfy.unlisted import CASE, UNET, conditioning
from ...support.zoo import zoo

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("in_a_run", "user")]

STEPS = 12  # Balanced: 5 of them full
WORDS = (
    "UNetModel is not a supported transformer (docs/models.md lists them); use an output or "
    "velocity policy, a path with fitted weights, or EasyCache: these work with any model"
)


def search(model, **changes):
    examples = tuple(Example("", conditioning(n), conditioning(9), seed=n) for n in range(4))
    inputs = {
        "model": model, "examples": examples, "latent": {"samples": zoo.empty_latent(CASE)},
        "sampler": comfy.samplers.sampler_object("euler"), "sigmas": zoo.sigmas(model, STEPS),
        "cfg": CASE.cfg, "speed": COUNT, "full_steps": 5, "minutes": 1000.0, "study": "mine",
        "policies": FITTED, "objective": "latent MSE", "evaluations": 3,
    } | changes  # fmt: skip
    return ScheduleSearch.execute(**inputs).result


searched = once(lambda: search(zoo.build(CASE)))


def sampled(model, plan=None, **options):
    listener = tiny.Listener()
    patched = patching.attach(model, plan, listener) if plan else model
    (latent,) = zoo.sample(CASE, patched, steps=STEPS, **options)
    return latent, listener


def test_a_speed_finds_the_path_that_was_fitted_to_the_model():
    model = zoo.build(CASE)
    schedule, policy, *_ = search(model)
    (path,) = user_paths.read()
    assert (path.family, path.policy) == ("UNetModel", policy)
    full, _ = sampled(model)
    latent, listener = sampled(model, by_speed("Balanced", Reuse(), user_paths.every))
    (record,) = listener.records
    assert (record.policy, record.schedule, record.family) == ("fitted", schedule, "UNetModel")
    assert record.origin.startswith("mine, 5 of 12, fitted here on 4 examples, latent MSE ")
    assert len(record.full_steps) == 5
    plan = fixed(Schedule.parse(schedule), Reuse(Site.GUIDED))
    reuse, _ = sampled(model, plan)
    assert (latent - full).square().mean() < (reuse - full).square().mean()


@pytest.mark.parametrize(
    ("speed", "options"),
    [("Fast", {}), ("Balanced", {"cfg": 2.0}), ("Balanced", {"sampler": "euler_cfg_pp"})],
)
def test_without_such_a_path_it_is_computed_in_full_with_the_reason(speed, options):
    model = zoo.build(CASE)
    searched()
    full, _ = sampled(model, **options)
    latent, listener = sampled(model, by_speed(speed, Reuse(), user_paths.every), **options)
    assert torch.equal(latent, full)
    assert listener.refusals == [WORDS]


def test_another_model_of_the_same_class_does_not_take_it():
    searched()
    wider = replace(CASE, unet=UNET | {"model_channels": 64})
    _, listener = sampled(zoo.build(wider), by_speed("Balanced", Reuse(), user_paths.every))
    assert listener.refusals == [WORDS]


def test_a_schedule_of_the_users_takes_the_weights_from_policy_selector():
    model = zoo.build(CASE)
    schedule, policy, *_ = searched()
    assert isinstance(policy, Fitted)
    _, listener = sampled(model, fixed(Schedule.parse(schedule), policy))
    assert listener.records[0].policy == "fitted"
    assert not listener.refusals
