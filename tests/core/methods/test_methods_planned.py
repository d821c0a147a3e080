"""``planned`` and ``rules``: schedules, policies and notes of methods that plan before the run."""

import pytest
import torch

from gph_core.methods import table
from gph_core.methods.method import Setting
from gph_core.methods.rules import L2P_OWN
from gph_core.methods.table import ALL, METHODS
from gph_core.policies.as_json import policy_from_json, policy_to_json
from gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from gph_core.schedule import Schedule

# The published schedules of 13 full steps of 50 by the GPH paper's rule for images.
UNIFORM = Schedule.parse("0-3,9,14,20,25,31,37,42,48-49/50")


@pytest.mark.parametrize(("name", "policy"), [("TaylorSeer", Taylor(1)), ("HiCache", Hermite(2))])
def test_two_methods_space_their_steps_as_the_source_paper_does(name, policy):
    plan = METHODS[name].plan(Setting(50, 13))
    assert (plan.schedule, plan.policy) == (UNIFORM, policy)


def test_hicache_on_video_begins_with_order_1():
    plan = METHODS["HiCache"].plan(Setting(50, 9, family="HunyuanVideo"))
    assert str(plan.schedule) == "0-2,9,17,25,33,41,49/50"
    # x = 6 from steps 2 and 1: 1 + x/2 and -x/2.
    assert plan.policy.weights([2, 1, 0], 8) == [4, -3]
    assert Hermite(2).weights([2, 1, 0], 8) == [8.25, -11.5, 4.25]
    assert plan.policy.weights([9, 2, 1], 10) == Hermite(2).weights([9, 2, 1], 10)
    assert plan.policy.part(9, 41) == Hermite(2)
    assert policy_from_json(policy_to_json(plan.policy)) == plan.policy


def test_l2p_is_uniform_spacing_with_the_fitted_weights():
    outputs = torch.rand(50, 400, dtype=torch.float64)
    fit = METHODS["L2P"].read({"gram": outputs @ outputs.T})
    plan = METHODS["L2P"].plan(Setting(50, 13, fit=fit))
    assert plan.schedule == UNIFORM
    assert plan.policy.matrix.shape == (50, 50)


def off_by(plan, outputs):
    """How far predicted outputs and repeated ones are off, each as the plan says it.

    That is the root mean square of the relative errors of the cached steps.
    """
    predicted, repeated = outputs.clone(), outputs.clone()
    cached = list(plan.schedule.cached_steps)
    for step in cached:
        predicted[step] = plan.policy.matrix[step].double() @ predicted
        repeated[step] = repeated[step - 1]
    for run in (predicted, repeated):
        errors = (run - outputs)[cached].square().sum(1) / outputs[cached].square().sum(1)
        yield f"{errors.mean().sqrt():.1%}"


@pytest.mark.parametrize("name", ["L2P", L2P_OWN])
def test_l2p_says_how_far_predictions_of_predictions_are_off(name):
    angles = torch.linspace(0, 3, 50, dtype=torch.float64)[:, None] * torch.arange(1, 7)
    outputs = torch.cat([angles.sin(), angles.cos()], 1)
    outputs += 0.01 * torch.randn(50, 12, generator=torch.Generator().manual_seed(0))
    fit = METHODS["L2P"].read({"gram": outputs @ outputs.T})
    plan = ALL[name].plan(Setting(50, 9, fit=fit))
    ours, theirs = off_by(plan, outputs)
    note = (
        f"error of predicted outputs {ours}, of repeated outputs {theirs}, on the examples that it "
        "was fitted to"
    )
    assert plan.note.startswith(note)
    assert plan.cost == pytest.approx((float(ours[:-1]) / 100) ** 2, rel=5e-3)
    # The weights that know of no predictions go wrong on smooth outputs, the others do not.
    went_wrong = "; predicting from predictions is worse here, so use 'L2P (full steps only)'"
    assert plan.note[len(note) :] == (went_wrong if name == "L2P" else "")


@pytest.mark.parametrize("name", ["L2P", L2P_OWN])
def test_how_far_l2p_is_off_is_measured_on_examples_that_it_was_not_fitted_to(name):
    # Outputs of random directions: nothing of the one says anything of the other.
    fitted, others = (
        torch.randn(12, 30, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        for seed in range(2)
    )
    values = {"gram": fitted @ fitted.T, "held_out": others @ others.T}
    plan = ALL[name].plan(Setting(12, 5, fit=METHODS["L2P"].read(values)))
    ours, theirs = off_by(plan, others)
    assert plan.note.startswith(
        f"error of predicted outputs {ours}, of repeated outputs {theirs}, on examples that it was "
        "not fitted to"
    )


def test_the_weights_of_l2p_carry_the_conditions_of_the_calibration():
    conditions = {"family": "FLUX", "cfg": 3.5}
    fit = METHODS["L2P"].read({"gram": torch.eye(2, dtype=torch.float64)})
    setting = Setting(2, 1, fit=fit, conditions=conditions)
    assert METHODS["L2P"].plan(setting).policy.conditions == conditions
    own = ALL[L2P_OWN].plan(setting).policy.conditions
    assert own == conditions | {"schedule": "0/2"}


def test_the_greedy_dpcache_can_end_in_a_dearer_schedule():
    costs = torch.rand(28, 28, 29, generator=torch.Generator().manual_seed(3))
    exact, greedy = (
        ALL[name].plan(Setting(28, 10, fit=costs)) for name in ("DPCache", table.GREEDY)
    )
    assert exact.schedule.num_full == greedy.schedule.num_full == 10
    assert exact.cost < greedy.cost


def test_budcache_has_a_schedule_for_each_number_of_full_steps():
    fit = METHODS["BudCache"].read({"4": "0,2,5,9/10"})
    plan = METHODS["BudCache"].plan(Setting(10, 4, fit=fit))
    assert (plan.schedule, plan.policy) == (Schedule.parse("0,2,5,9/10"), Reuse())
    with pytest.raises(ValueError, match="no schedule of 5 full steps"):
        METHODS["BudCache"].plan(Setting(10, 5, fit=fit))


@pytest.mark.parametrize("name", [n for n in METHODS if METHODS[n].plan is not None])
def test_the_row_of_a_planner_has_the_kind_of_policy_that_its_plans_have(name):
    jumps = torch.rand(20, 20, 21, generator=torch.Generator().manual_seed(0))
    fits = {
        "L2P": METHODS["L2P"].read({"gram": torch.eye(20, dtype=torch.float64)}),
        "BudCache": {8: Schedule.parse("0-3,6,10,15,19/20")},
        "DPCache": jumps, "MeanCache": jumps[:4],
    }  # fmt: skip
    plan = METHODS[name].plan(Setting(20, 8, fit=fits.get(name)))
    assert type(plan.policy) is type(METHODS[name].policy)


@pytest.mark.parametrize("name", ["L2P", "DPCache", "MeanCache", "BudCache"])
def test_a_planner_that_was_not_calibrated_says_so(name):
    words = f"{name} (needs|has no schedule) .*; run Calibrate for it.* input calibration"
    with pytest.raises(ValueError, match=words):
        METHODS[name].plan(Setting(20, 8))


@pytest.mark.parametrize("name", ["TaylorSeer", "MeanCache"])
def test_a_planner_wants_to_know_how_many_steps_are_full(name):
    with pytest.raises(ValueError, match="number of full steps"):
        METHODS[name].plan(Setting(20, fit=torch.zeros(4, 20, 21)))
