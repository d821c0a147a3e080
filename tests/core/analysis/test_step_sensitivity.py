import itertools
import json
import math

import pytest

from gph_core.analysis.isolated_steps import IsolatedStep
from gph_core.analysis.step_sensitivity import StepSensitivity, plan_by_sensitivity
from gph_core.policies.extrapolation import Hermite, Reuse
from gph_core.schedule import Schedule

SIGMAS = (1.0, 0.75, 0.5, 0.25, 0.0)
FIRST = [IsolatedStep(1, (8.0,), 16.0, 4.0, 1.0), IsolatedStep(2, (4.0, 12.0), 8.0, 2.0, 1.0)]
SECOND = [IsolatedStep(1, (6.0,), 12.0, 3.0, 0.75), IsolatedStep(2, (2.0, 10.0), 4.0, 1.0, 0.5)]


def sensitivity(gains, errors, policy=None):
    """One whose first step, and whose last one, were not measured."""
    count = len(gains) + 2
    sigmas = tuple(1 - n / count for n in range(count + 1))
    gains = (None, *gains, None)
    return StepSensitivity(
        sigmas, policy or Reuse(), 2, gains, gains, ((), *map(tuple, errors), ()), {}
    )


def test_means_over_prompts_by_hand():
    found = StepSensitivity.of([FIRST, SECOND], SIGMAS, Reuse(), {"cfg": 1.0})
    # Velocity gain 2, step size 1/4, future gains 1/4 and 1/2, of both prompts.
    assert found.gains == pytest.approx((None, 0.125, 0.25, None))
    assert found.output_errors == (None, 0.875, 0.75, None)
    assert found.feature_errors == ((), (7.0,), (3.0, 11.0), ())
    assert (found.num_prompts, found.num_steps, found.longest_jump) == (2, 4, 3)


def test_a_jump_costs_what_its_steps_do_to_the_end():
    found = StepSensitivity.of([FIRST, SECOND], SIGMAS, Reuse(), {})
    assert found.jump_cost(1, 2) == 0
    assert found.jump_cost(0, 2) == pytest.approx(0.125 * 7)
    assert found.jump_cost(1, 3) == pytest.approx(0.25 * 3)
    assert found.jump_cost(0, 3) == pytest.approx(0.125 * 7 + 0.25 * 11)
    assert found.jump_cost(2, 4) == math.inf  # the last step was not measured


def test_a_jump_longer_than_measured_is_ruled_out():
    found = sensitivity([1, 1, 1], [[1], [1, 2], [1, 2]])
    assert found.jump_cost(0, 3) == 3
    assert found.jump_cost(0, 4) == math.inf
    with pytest.raises(ValueError, match="with 2 full ones in jumps of at most 3 steps"):
        plan_by_sensitivity(found, 2)


def test_the_plan_is_the_cheapest_of_all_schedules():
    gains, growth = (5.0, 3.0, 0.5, 2.0, 0.1, 1.0), (1.0, 2.5, 4.0, 7.0, 9.0, 12.0)
    found = sensitivity(gains, [growth[:n] for n in range(1, 7)])
    every = {}
    for full in itertools.combinations(range(1, 7), 2):
        total, last = 0.0, 0
        for step in range(1, 7):
            last = step if step in full else last
            total += 0 if step == last else gains[step - 1] * growth[step - last - 1]
        every[Schedule((0, *full, 7), 8)] = total
    plan = plan_by_sensitivity(found, 4)
    assert plan.schedule == min(every, key=every.__getitem__)
    assert plan.cost == pytest.approx(min(every.values()))
    assert plan.policy == Reuse()


def test_the_first_steps_that_a_policy_needs_are_full():
    found = sensitivity([0.1, 0.1, 1, 2], [[1]] * 4, Hermite(2))
    assert str(plan_by_sensitivity(found, 5).schedule) == "0-2,4-5/6"


def test_it_is_plain_data():
    found = StepSensitivity.of([FIRST, SECOND], SIGMAS, Reuse(), {"cfg": 1.0})
    data = json.loads(json.dumps(found.to_dict()))
    assert data["policy"] == {"kind": "Reuse"}
    assert data["gains"] == pytest.approx([None, 0.125, 0.25, None])
    assert data["feature_errors"] == [[], [7.0], [3.0, 11.0], []]
    assert data["conditions"] == {"cfg": 1.0}
