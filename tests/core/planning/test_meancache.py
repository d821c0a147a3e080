import itertools
import math

import pytest
import torch

from gph_core.planning.meancache import SPANS, edge_costs, plan_meancache, plan_near_published
from gph_core.policies.mean_velocity import MeanVelocity
from gph_core.schedule import Schedule

# The published worked example of the policy, continued by two Euler steps with 1.5 and 1.4.
SIGMAS = (1.0, 0.9, 0.8, 0.65, 0.45, 0.2)
VELOCITIES = [1.0, 1.2, 1.3, 1.5, 1.4]
STATES = [0.0, -0.10, -0.22, -0.415, -0.715, -1.065]

# By hand. From 2, span 2: J = (-0.22 + 0.2) / 0.04 = -0.5. From 3: J = -0.24 (span 2) and
# -0.530612 (span 3), as in the worked example.
BY_HAND = {
    (0, 2, 4): abs(0.495 / 0.35 - 1.3 - 0.35 * 0.5),
    (0, 2, 5): abs(0.845 / 0.6 - 1.3 - 0.6 * 0.5),
    (0, 3, 5): abs(0.65 / 0.45 - 1.5 - 0.45 * 0.24),
    (1, 3, 5): abs(0.65 / 0.45 - 1.5 - 0.45 * 0.530612),
}  # and jumps to the next step cost nothing


def tensors(numbers):
    return [torch.tensor([[number, -number]]) for number in numbers]


def expected():
    costs = torch.full((4, 5, 6), math.inf, dtype=torch.float64)
    for edge, cost in BY_HAND.items():
        costs[edge] = cost
    for step in range(5):
        costs[:, step, step + 1] = 0
    return costs


def test_costs_of_the_worked_example_by_hand():
    found = edge_costs(tensors(STATES), tensors(VELOCITIES), SIGMAS)
    torch.testing.assert_close(found, expected(), atol=1e-5, rtol=0)


def test_jumps_are_no_longer_than_allowed():
    found = edge_costs(tensors(STATES), tensors(VELOCITIES), SIGMAS, max_gap=2)
    edges = expected()
    edges[0, 2, 5] = math.inf
    torch.testing.assert_close(found, edges, atol=1e-5, rtol=0)


def test_a_run_whose_parts_do_not_fit_is_refused():
    with pytest.raises(
        ValueError, match="5 velocities need 6 states and noise levels, got 5 and 6"
    ):
        edge_costs(tensors(STATES[:-1]), tensors(VELOCITIES), SIGMAS)


def test_a_constant_velocity_costs_nothing():
    states = [torch.full((3,), 2.0 * sigma) for sigma in SIGMAS]
    found = edge_costs(states, [torch.full((3,), 2.0)] * 5, SIGMAS)
    assert found[found.isfinite()].max() < 1e-6


def edges(num_steps, costs):
    """A table in which only jumps to the next step and the given ones are possible."""
    table = torch.full((4, num_steps, num_steps + 1), math.inf, dtype=torch.float64)
    for step in range(num_steps):
        table[:, step, step + 1] = 0
    for edge, cost in costs.items():
        table[edge] = cost
    return table


def test_a_large_cost_is_avoided_at_the_price_of_the_sum():
    table = edges(6, {(0, 0, 2): 0.5, (0, 2, 5): 0.5, (0, 0, 3): 0.1, (0, 3, 5): 0.8})
    even = plan_meancache(table, 3, first_full=1)
    assert even.schedule == Schedule((0, 2, 5), 6)  # 2 · 0.0625 against 0.4097
    assert even.cost == pytest.approx(0.125)
    assert plan_meancache(table, 3, first_full=1, power=1).schedule == Schedule((0, 3, 5), 6)


def test_cached_steps_have_the_span_that_costs_their_jump_least():
    table = edges(9, {
        (0, 3, 6): 0.3, (2, 3, 6): 0.2, (3, 3, 6): 0.2,  # spans 2, 4, 5: the shorter of equal ones
        (3, 6, 8): 0.1,
    })  # fmt: skip
    plan = plan_meancache(table, 6, first_full=3)
    assert plan.schedule == Schedule((0, 1, 2, 3, 6, 8), 9)
    assert plan.policy == MeanVelocity(spans=((4, 4), (5, 4), (7, 5)))


def test_a_published_schedule_has_its_published_spans():
    # FLUX.1-dev, 41 of 50 cached: span 2 up to step 9, then 5.
    full = (0, 1, 2, 3, 4, 9, 19, 34, 49)
    pairs = [(s, d) for s, d in itertools.pairwise(full) if d > s + 1]
    table = edges(50, {(SPANS.index(2 if s == 4 else 5), s, d): 0.1 for s, d in pairs})
    plan = plan_meancache(table, 9)
    assert plan.schedule == Schedule(full, 50)
    spans = {**dict.fromkeys(range(5, 9), 2), **dict.fromkeys(range(10, 49), 5)}
    assert dict(plan.policy.spans) == {n: span for n, span in spans.items() if n not in full}


def test_a_plan_without_cached_steps_has_no_spans():
    plan = plan_meancache(edges(4, {}), 4)
    assert plan[:3] == (Schedule((0, 1, 2, 3), 4), MeanVelocity(), 0)


def test_steps_without_history_are_followed_by_a_full_one():
    # A plan that may cache step 1 or 2 does not: there is no span before.
    states = torch.randn(21, 4, generator=torch.Generator().manual_seed(0)).cumsum(0)
    costs = edge_costs(states, states[:-1], [1 - n / 20 for n in range(21)])
    assert plan_meancache(costs, 6, first_full=1).schedule.full_steps[:3] == (0, 1, 2)
    with pytest.raises(ValueError, match="of 20 steps cannot be cached while 6 are required full"):
        plan_meancache(costs, 5)


def test_fewer_first_steps_are_full_where_the_published_ones_leave_no_schedule():
    states = torch.randn(21, 4, generator=torch.Generator().manual_seed(0)).cumsum(0)
    sigmas = [1 - n / 20 for n in range(21)]
    costs, all_costs = (edge_costs(states, states[:-1], sigmas, gap) for gap in (15, 20))
    plan = plan_near_published(costs, 7)
    assert plan.schedule.full_steps[:5] == (0, 1, 2, 3, 4)
    assert plan.note == ""
    # Five: 0 to 3 and 19 would leave a jump of 16, the longest is 15.
    plan = plan_near_published(costs, 5)
    assert plan.schedule.full_steps[:3] == (0, 1, 2)
    assert plan.schedule.num_full == 5
    assert "planned with 3 first full steps and jumps of at most 15 steps" in plan.note
    # Four: a jump of 17 from 2 to 19.
    with pytest.raises(ValueError, match="no schedule of 20 steps with 4 full ones"):
        plan_near_published(costs, 4)
    plan = plan_near_published(all_costs, 4)
    assert plan.schedule == Schedule((0, 1, 2, 19), 20)
    assert "jumps of any measured length" in plan.note
