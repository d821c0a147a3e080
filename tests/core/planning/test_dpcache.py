import itertools
import math

import pytest
import torch

from gph_core.planning.dpcache import jump_costs, plan_dpcache, plan_near_published
from gph_core.policies.extrapolation import TokenTaylor
from gph_core.schedule import Schedule

SQUARES = [torch.tensor([float(n * n)]) for n in range(5)]

# By hand: with anchors a - 1, a, s the recursion gives D1 and D2, then X̂ = X + D1 x + D2 x²/2.
# The end node is 0.8 (16 + 7 + 1) + 0.2 (4 + 9 + 16) / 3 = 21.133333.
BY_HAND = {
    (0, 0, 1): 0.0,
    (0, 1, 2): 0.0,
    (1, 2, 3): 0.5,  # slopes 3, 1; X̂ = 4 + 3 + 1 = 8, not 9
    (1, 2, 4): 1.5,  # 14, not 16
    (1, 2, 5): 1.933333,  # 22
    (1, 3, 4): 1.125,  # slopes 4, 1 with gap 2: 9 + 4 + 0.75
    (1, 3, 5): 1.691667,  # 20
    (2, 3, 4): 0.5,  # 15
    (2, 3, 5): 1.433333,  # 23
    (1, 4, 5): 0.266667,  # 16 + 5 + 2/3
    (2, 4, 5): 0.808333,  # 16 + 6 + 3/4
    (3, 4, 5): 1.433333,  # 16 + 7 + 1
}


def expected(entries):
    costs = torch.full((5, 5, 6), math.inf, dtype=torch.float64)
    for jump, cost in entries.items():
        costs[jump] = cost
    return costs


def test_costs_of_squares_by_hand():
    found = jump_costs(iter(SQUARES), max_jump=3)
    torch.testing.assert_close(found, expected(BY_HAND), atol=1e-5, rtol=0)


def test_jumps_and_looks_back_are_no_longer_than_allowed():
    near = {j: c for j, c in BY_HAND.items() if j[2] - j[1] <= 2 and j[1] - j[0] <= 2}
    found = jump_costs(SQUARES, max_jump=2)
    torch.testing.assert_close(found, expected(near), atol=1e-5, rtol=0)
    shortest = {j: c for j, c in BY_HAND.items() if j[2] - j[1] <= 1 and j[1] - j[0] <= 1}
    found = jump_costs(SQUARES)  # int(0.3 · 5) = 1
    torch.testing.assert_close(found, expected(shortest), atol=1e-5, rtol=0)


def test_errors_are_means_over_the_feature():
    features = [torch.stack((row, 0 * row)).bfloat16() for row in SQUARES]
    found = jump_costs(features, max_jump=3)
    torch.testing.assert_close(found, expected(BY_HAND) / 2, atol=1e-5, rtol=0)


def test_features_on_a_line_are_predicted_without_error_up_to_the_end_node():
    # The end node of a line is 0.8 N + 0.2 (N - 2) = N - 0.4; every prediction of it is N.
    found = jump_costs([torch.tensor([float(n)]) for n in range(20)])
    finite = found.isfinite()
    assert found[:, :, :20][finite[:, :, :20]].abs().max() < 1e-5
    ends = found[:, :, 20][finite[:, :, 20]]
    torch.testing.assert_close(ends, torch.full_like(ends, 0.2), atol=1e-5, rtol=0)
    assert finite[13, 14, 20]  # jumps of up to 0.3 · 20 steps
    assert not finite[12, 13, 20]
    assert finite[8, 14, 15]
    assert not finite[7, 14, 15]


def test_a_run_of_two_steps_has_no_costs():
    with pytest.raises(ValueError, match="at least 3 steps, got 2"):
        jump_costs(SQUARES[:2])


def test_the_plan_of_the_squares():
    plan = plan_dpcache(expected(BY_HAND), 4)
    # 0-2 and 4 have to be full: 0 + 0 + 1.5 + 0.808333.
    assert plan[:3] == (Schedule((0, 1, 2, 4), 5), TokenTaylor(), pytest.approx(2.308333))
    # All full: 0.5 + 0.5 + 1.433333.
    assert plan_dpcache(expected(BY_HAND), 5).cost == pytest.approx(2.433333)


def test_jumps_are_longer_than_published_only_where_these_leave_no_schedule():
    assert plan_near_published(expected(BY_HAND), 5).note == ""
    # The published share of 5 steps is a jump of 1, from 2 to 4 it takes 2.
    plan = plan_near_published(expected(BY_HAND), 4)
    assert plan.schedule == Schedule((0, 1, 2, 4), 5)
    assert plan.note == (
        "planned with 3 first full steps and jumps of any measured length, because the published "
        "3 first full steps and jumps of at most 1 steps leave no such schedule"
    )
    with pytest.raises(ValueError, match="cannot be cached while 4 are required full"):
        plan_near_published(expected(BY_HAND), 3)


def test_the_plan_keeps_first_and_last_steps_and_the_longest_jump():
    # A random walk of 30 steps; jumps of up to 9.
    rows = torch.randn(30, 40, generator=torch.Generator().manual_seed(0)).cumsum(0)
    costs = jump_costs(rows)
    for num_full in (6, 9, 14):
        for greedy in (False, True):
            steps = plan_dpcache(costs, num_full, greedy=greedy).schedule.full_steps
            assert len(steps) == num_full
            assert {0, 1, 2, 29} <= set(steps)
            assert max(d - s for s, d in itertools.pairwise(steps)) <= 9
    with pytest.raises(
        ValueError, match="5 full ones in jumps of at most 9 steps while steps 0, 1"
    ):
        plan_dpcache(costs, 5)
