"""Text of Plan Schedule for methods and for rules of uniform spacing."""

import pytest

from gph_core.calibration.entry import Calibration
from gph_core.methods.planned import PLANNED, RULES
from gph_core.planning.planners import Plan
from gph_core.policies.extrapolation import Reuse, TokenTaylor
from gph_core.reports.plan_report import calibration_text, plan_text
from gph_core.schedule import Schedule

PLAN = Plan(Schedule.parse("0-2,9/10"), Reuse(), 1.5, note="a note")


def test_a_plan_is_described_by_its_method_and_its_cost():
    method = PLANNED["DPCache"]
    assert list(plan_text("DPCache", PLAN, method, "")) == [
        f"DPCache: {method.rule} ({method.source})",
        "0-2,9/10: 4 of 10 steps full, at most 2.50x faster",
        "policy: residual reuse",
        "cost 1.5, comparable only with plans of this calibration",
        "a note",
    ]


def test_a_plan_whose_policy_extrapolates_far_warns_below_its_speed():
    plan = Plan(Schedule.parse("0-2,8,27/28"), TokenTaylor(), 0.0)
    _, speed, policy, warning = plan_text("DPCache", plan, PLANNED["DPCache"], "")
    assert "5.60x faster" in speed
    assert policy == "policy: DPCache order 2"
    assert warning.startswith("warning: DPCache order 2 extrapolates over 18 steps up to step 26")


@pytest.mark.parametrize(
    ("name", "family", "words"),
    [
        ("uniform (images)", "Wan", "rule for images"),
        ("uniform (videos)", "FLUX", "rule for videos"),
        ("TaylorSeer", "Wan", "rule for videos"),
        ("TaylorSeer", "FLUX", "rule for images"),
        ("TaylorSeer", "", "rule for images; if your model makes videos, connect it to model"),
    ],
)
def test_even_spacing_says_whose_rule_it_is(name, family, words):
    plan = Plan(PLAN.schedule, PLAN.policy, 0.0)
    method = None if name in RULES else PLANNED[name]
    assert list(plan_text(name, plan, method, family))[1] == (f"spaced by the GPH paper's {words}")


def test_conditions_that_could_not_be_compared_are_named():
    known = Calibration("DPCache", {"sigmas": [1.0, 0.0]}, report={"num_examples": 2})
    *_, last = calibration_text(known, {})
    assert last == (
        "not checked here: noise levels (connect sigmas), model (connect it), sampler, CFG and size"
    )
    *_, last = calibration_text(known, {"sigmas": [1.0, 0.0], "family": "FLUX"})
    assert last == "not checked here: sampler, CFG and size"
    assert list(calibration_text(None, {})) == []
