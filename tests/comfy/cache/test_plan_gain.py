"""cache/plan_schedule: Plan Schedule by propagation gains."""

import itertools
import json

import pytest
import torch
from golden_path_pack.gph_core.paths.library import NONE
from golden_path_pack.gph_core.policies.extrapolation import Taylor
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.cache.plan_schedule import PlanSchedule

from ...support.comfy import tiny
from ...support.comfy.isolations import STEPS, inputs, run
from ...support.comfy.planned import plan as planned

pytestmark = pytest.mark.usefixtures("in_a_run")


def plan(sensitivity, full=3, steps=STEPS, **more):
    return planned("propagation gain", steps, full, NONE, sensitivity=sensitivity, **more)


def test_the_plan_is_the_cheapest_by_the_numbers_of_the_experiment(model):
    sensitivity, _, text = run(model, policy=Taylor(1)).result
    report = json.loads(text)
    gains = dict(zip(report["steps"], report["propagation_gain"]["mean"], strict=True))
    costs = {}
    for middle in itertools.combinations(range(1, STEPS - 1), 1):
        full, total = (0, *middle, STEPS - 1), 0.0
        for step in set(range(STEPS)) - set(full):
            distance = step - max(n for n in full if n < step)
            errors = [
                example["steps"][step - 1]["feature_errors"][distance - 1]
                for example in report["examples"]
            ]
            total += gains[step] * sum(errors) / len(errors)
        costs[str(Schedule(full, STEPS))] = total
    schedule, policy, text = plan(sensitivity)
    assert schedule == min(costs, key=costs.__getitem__)
    assert policy == Taylor(1)
    assert text.startswith("propagation gain: cheapest path through feature errors, each")
    assert f"cost {costs[schedule]:.4g}, comparable" in text
    assert "calibration: 2 examples" in text


def test_a_run_takes_the_plan(model):
    sensitivity = run(model).result[0]
    schedule, policy, _ = plan(sensitivity, 4, sigmas=inputs(model)["sigmas"], model=model)
    listener = tiny.Listener()
    tiny.sample(tiny.attach(model, schedule, policy, listener), steps=STEPS)
    assert str(listener.records[0].realized) == schedule
    assert listener.refusals == []


def test_what_the_plan_needs_is_said(model):
    with pytest.raises(ValueError, match="connect the sensitivity of Propagation Gain"):
        plan(None)
    sensitivity = run(model, longest_jump=2).result[0]
    with pytest.raises(ValueError, match="was calibrated for 6 steps, this plan is for 8"):
        plan(sensitivity, steps=8)
    with pytest.raises(ValueError, match="calibrated with the model of that time"):
        plan(sensitivity, model=tiny.flux(depth=1))
    with pytest.raises(ValueError, match=r"calibrated with the noise levels"):
        plan(sensitivity, sigmas=torch.linspace(1, 0, STEPS + 1) ** 3)
    with pytest.raises(ValueError, match="with 3 full ones in jumps of at most 2 steps"):
        plan(sensitivity, 3)
    assert Schedule.parse(plan(sensitivity, 4)[0]).num_full == 4
    assert PlanSchedule.validate_inputs(method="propagation gain", calibration=NONE) is True
