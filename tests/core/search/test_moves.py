import itertools
import random
from fractions import Fraction

import pytest

from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search.algorithms.moves import local_neighbors, local_swap, starts

from ...support.every_chance import distribution

SPACE = ScheduleSpace(8, 5)
SCHEDULE = Schedule((0, 1, 6), 8)  # 2, 3, 4, 5, 7 cached; 1 and 6 may move


@pytest.mark.parametrize(("num_cached", "count"), [(29, 493), (37, 333), (41, 205)])
def test_neighborhoods_have_the_sizes_of_the_source(num_cached, count):
    space = ScheduleSpace(50, num_cached, required_full=(0, 1, 2, 49))
    assert len(set(space.neighbors(space.sample(random.Random(0))))) == count


def test_a_local_swap_has_the_distribution_of_the_source():
    # Each cached step has 1/5. With one full step within 3, that has 7/10 + 3/10 / 2 = 17/20;
    # with both within 3, each has a half. Distances from 1 and 6: 1 and 4 (step 2), 2 and 3,
    # 3 and 2, 4 and 1 (step 5), 6 and 1 (step 7).
    likely, rare, even = Fraction(17, 100), Fraction(3, 100), Fraction(1, 10)
    expected = {
        (0, 2, 6): likely, (0, 1, 2): rare,
        (0, 3, 6): even, (0, 1, 3): even,
        (0, 4, 6): even, (0, 1, 4): even,
        (0, 5, 6): rare, (0, 1, 5): likely,
        (0, 6, 7): rare, (0, 1, 7): likely,
    }  # fmt: skip
    found = distribution(lambda rng: local_swap(SPACE, SCHEDULE, rng).full_steps)
    assert found == expected


def test_a_swap_without_a_full_step_near_takes_any():
    space, schedule = ScheduleSpace(12, 9), Schedule((0, 1, 2), 12)
    found = distribution(lambda rng: local_swap(space, schedule, rng).full_steps)
    # Step 11 is 9 and 10 away from the two that may move.
    assert found[0, 1, 11] == found[0, 2, 11] == Fraction(1, 9) / 2


@pytest.mark.parametrize("num_cached", [0, 3])
def test_the_only_schedule_of_its_space_is_its_own_swap(num_cached):
    space = ScheduleSpace(4, num_cached)
    (schedule,) = space
    assert local_swap(space, schedule, random.Random(0)) == schedule
    assert local_neighbors(space, schedule) == space.neighbors(schedule) == []


def test_local_neighbors_are_all_swaps_within_three_steps():
    found = [schedule.full_steps for schedule in local_neighbors(SPACE, SCHEDULE)]
    from_1, from_6 = (2, 3, 4), (3, 4, 5, 7)
    assert found == [tuple(sorted((0, a, 6))) for a in from_1] + [
        tuple(sorted((0, 1, b))) for b in from_6
    ]


def test_warm_starts_come_once_each_in_every_order_then_uniform_draws():
    seeds = [Schedule((0, n), 8) for n in (1, 2, 3)]
    space = ScheduleSpace(8, 6)
    orders = set()
    for seed in range(100):
        found = list(itertools.islice(starts(space, random.Random(seed), seeds), 20))
        assert set(found[:3]) == set(seeds)
        assert len(set(found)) > 3
        orders.add(tuple(found[:3]))
    assert len(orders) == 6
