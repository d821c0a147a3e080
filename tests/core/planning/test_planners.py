import itertools
import math
import random

import pytest
import torch

from gph_core.planning.planners import Limits, Plan, cheapest_path, longest_jump, mean_costs, within
from gph_core.policies.extrapolation import Reuse
from gph_core.schedule import Schedule, ScheduleSpace


def table(num_steps, draw):
    """A made cost of each jump, by what comes before."""
    nodes = range(num_steps + 1)
    return {(a, s, d): draw() for a in (None, *nodes) for s in nodes for d in nodes}


def total(schedule, costs):
    """The sum of a schedule's jumps, from the first to the last."""
    path = (None, *schedule.full_steps, schedule.num_steps)
    found = 0.0
    for jump in zip(path, path[1:], path[2:], strict=False):
        found += costs[jump]
    return found


def longest(schedule):
    path = (*schedule.full_steps, schedule.num_steps)
    return max(d - s for s, d in itertools.pairwise(path))


SPACES = [
    ScheduleSpace(9, 5),
    ScheduleSpace(10, 4, (0, 1, 2, 9)),
    ScheduleSpace(8, 5, (0, 4)),
    ScheduleSpace(6, 5),
    ScheduleSpace(5, 0),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("max_gap", [None, 4])
@pytest.mark.parametrize("seed", [0, 3])
def test_the_cheapest_path_is_the_first_of_the_best_of_all_schedules(space, max_gap, seed):
    rng = random.Random(seed)
    # Whole numbers up to 4 give equal sums; some jumps are impossible.
    draw = rng.random if seed == 0 else lambda: rng.choice((0, 1, 2, 3, 4, math.inf))
    costs = table(space.num_steps, draw)
    allowed = [s for s in space if longest(s) <= (max_gap or math.inf)]
    best = min(allowed, key=lambda s: total(s, costs), default=None)

    def plan():
        return cheapest_path(
            lambda *jump: costs[jump],
            space.num_steps,
            space.num_steps - space.num_cached,
            space.required_full,
            max_gap,
        )

    if best is None or total(best, costs) == math.inf:
        with pytest.raises(ValueError, match="ask for more full steps"):
            plan()
    else:
        assert plan() == (best, total(best, costs))


def greedy_by_table(costs, num_steps, num_full, required):
    """The reproduced program of DPCache: one parent for each count of jumps and node."""
    end = num_steps
    dp, parent = {(0, 0): 0.0}, {}
    for u in range(1, num_full + 1):
        for d in range(1, end + 1):
            for s in range(d):
                if (u - 1, s) not in dp or any(s < r < d for r in required):
                    continue
                anchor = parent[u - 1, s] if s else None
                cost = dp[u - 1, s] + costs[anchor, s, d]
                if cost < dp.get((u, d), math.inf):
                    dp[u, d], parent[u, d] = cost, s
    path = [end]
    for u in range(num_full, 0, -1):
        path.append(parent[u, path[-1]])
    return Schedule(tuple(path[1:]), num_steps), dp[num_full, end]


@pytest.mark.parametrize("seed", range(5))
def test_the_greedy_plan_is_that_of_the_reproduced_program(seed):
    costs = table(12, random.Random(seed).random)
    required = (0, 1, 2, 11)
    greedy = cheapest_path(lambda *jump: costs[jump], 12, 7, required, greedy=True)
    assert greedy == greedy_by_table(costs, 12, 7, required)
    assert greedy[1] >= cheapest_path(lambda *jump: costs[jump], 12, 7, required)[1]


def test_the_greedy_plan_loses_a_dear_way_to_a_step_that_makes_the_next_jump_cheap():
    # Two ways to step 3: over 1 for 1, over 2 for 2. From there to the end: 5 and 0.
    costs = {
        (None, 0, 1): 1,
        (None, 0, 2): 2,
        (0, 1, 3): 0,
        (0, 2, 3): 0,
        (1, 3, 4): 5,
        (2, 3, 4): 0,
    }

    def cost(*jump):
        return costs.get(jump, math.inf)

    assert cheapest_path(cost, 4, 3) == (Schedule((0, 2, 3), 4), 2)
    assert cheapest_path(cost, 4, 3, greedy=True) == (Schedule((0, 1, 3), 4), 6)


@pytest.mark.parametrize(
    ("num_full", "required", "max_gap", "message"),
    [
        (0, (), None, "10 of 10 steps cannot be cached while 1 are required full"),
        (11, (), None, "-1 of 10 steps cannot be cached"),
        (2, (1, 2), None, "8 of 10 steps cannot be cached while 3 are required full"),
        (3, (0, 10), None, r"required steps \(0, 10\) are outside the 10 steps"),
        (
            3, (9,), 4,
            "there is no schedule of 10 steps with 3 full ones in jumps of at most 4 steps while "
            "steps 0, 9 are full; ask for more full steps",
        ),
    ],
)  # fmt: skip
def test_an_impossible_plan_is_refused_with_its_numbers(num_full, required, max_gap, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        cheapest_path(lambda *_: 1.0, 10, num_full, required, max_gap)


def test_a_cost_that_is_not_a_number_rules_a_jump_out():
    def cost(_before, _start, end):
        return math.nan if end == 1 else 1.0

    assert cheapest_path(cost, 4, 3)[0] == Schedule((0, 2, 3), 4)


def test_the_mean_leaves_out_what_is_not_finite_in_a_run():
    inf, nan = math.inf, math.nan
    tables = [torch.tensor([[1.0, 2.0], [inf, nan]]), torch.tensor([[3.0, nan], [inf, 5.0]])]
    assert mean_costs(tables).tolist() == [[2.0, 2.0], [inf, 5.0]]


def test_the_longest_jump_is_that_with_a_cost():
    costs = torch.full((5, 5, 6), math.inf)
    assert longest_jump(costs) == 0
    costs[1, 2, 5] = costs[0, 0, 2] = 1.0
    assert longest_jump(costs) == 3


def test_the_first_limits_that_leave_a_plan_are_taken_and_reported():
    def plan(limits):
        if limits.first_full > 3:
            raise ValueError("too few")
        return Plan(Schedule((0,), limits.first_full), Reuse(), 1.0)

    published, fewer, fewest = Limits(4, 2), Limits(3, 2), Limits(2, None)
    assert within(plan, [fewer, fewest]).note == ""
    found = within(plan, [published, fewer, fewest])
    assert found.schedule.num_steps == 3
    assert found.note == (
        "planned with 3 first full steps and jumps of at most 2 steps, because the published "
        "4 first full steps and jumps of at most 2 steps leave no such schedule"
    )
    with pytest.raises(ValueError, match="too few"):
        within(plan, [published, published])
