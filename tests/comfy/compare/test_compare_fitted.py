"""compare/compare_run: fitted weights name the run, and other schedules go without them."""

import comfy.samplers
import pytest
import torch
from golden_path_pack.gph_core.paths.golden_path import SEARCHED, GoldenPath
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook import compatibility
from golden_path_pack.nodes.hook.setup import SamplingSetup
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.library.library import stated_model

from ...support.comfy import tiny
from ...support.comfy.compared import PATH, UNIFORM, compare, images, report, seen
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("user")
WEIGHTS = tuple(
    (step, ((anchor, 0.9),)) for step, anchor in ((2, 1), (3, 1), (5, 4), (6, 4), (7, 4))
)
POLICY = Fitted(PATH, WEIGHTS)


def test_the_cached_run_is_named_fitted_and_uniform_repeats_residuals(model):
    output = compare(model, policy=POLICY)
    full, fitted, uniform, _ = images(output)
    assert torch.equal(full, seen(tiny.sample(model)))
    assert torch.equal(fitted, seen(tiny.sample(tiny.attach(model, PATH, POLICY))))
    assert torch.equal(uniform, seen(tiny.sample(tiny.attach(model, UNIFORM, Reuse()))))
    assert [run["name"] for run in report(output)["runs"]] == ["full", "fitted", "uniform", "fewer"]
    lines = output.result[2].splitlines()
    assert [line for line in lines if line.startswith("fitted (Custom) ")]
    assert f"fitted: your schedule: {Schedule.parse(PATH)}, policy fitted" in lines


def test_weights_that_do_not_say_what_they_are_for_run_where_they_are_connected_with_a_note(model):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(model, PATH, POLICY, listener))
    (record,) = listener.records
    assert (record.policy, len(record.cached_steps)) == ("fitted", len(WEIGHTS))
    needed = "family, model, sigmas, cfg, sampler, sampler options"
    assert record.notes[0].startswith(f"the weights do not say for which {needed} they were fitted")


def test_a_speed_takes_the_fitted_path_of_the_library(model):
    sigmas, guider = tuple(zoo.sigmas(model, 8).tolist()), comfy.samplers.CFGGuider(model)
    guider.set_cfg(3.0)
    euler = comfy.samplers.sampler_object("euler")
    stated = SamplingSetup(guider, euler, list(sigmas), (1, 16, 8, 8)).conditions
    schedule = Schedule.parse("0,1,4,6/8")
    weights = tuple((step, ((full, 1.0),)) for step, full in ((2, 1), (3, 1), (5, 4), (7, 6)))
    policy = Fitted(str(schedule), weights, stated)
    path = GoldenPath("mine", schedule, SEARCHED, policy, sigmas=sigmas, **stated_model(model))
    user_paths.library().save(path)
    found = report(compare(model, speed="Fast"))
    assert (found["runs"][1]["name"], found["runs"][1]["schedule"]) == ("fitted", str(schedule))
    assert found["origin"] == "mine, fitted here"


@pytest.mark.long
def test_of_a_model_without_a_family_uniform_repeats_velocities(monkeypatch, model):
    identify = compatibility.identify
    monkeypatch.setattr(compatibility, "identify", lambda patcher: (None, identify(patcher)[1]))
    _, _, uniform, _ = images(compare(model, policy=POLICY))
    plan = tiny.attach(model, UNIFORM, Reuse(Site.GUIDED))
    assert torch.equal(uniform, seen(tiny.sample(plan)))


def test_the_uniform_run_repeats_residuals_also_where_the_steps_are_the_same(model):
    schedule = Schedule.parse(UNIFORM)
    weights = tuple(
        (step, ((max(f for f in schedule.full_steps if f < step), 0.9),))
        for step in schedule.cached_steps
    )
    policy = Fitted(UNIFORM, weights)
    _, fitted, uniform, _ = images(compare(model, policy=policy, schedule=UNIFORM))
    assert torch.equal(fitted, seen(tiny.sample(tiny.attach(model, UNIFORM, policy))))
    assert torch.equal(uniform, seen(tiny.sample(tiny.attach(model, UNIFORM, Reuse()))))
