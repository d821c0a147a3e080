import itertools
import random
import sys

import numpy as np
import pytest

from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search.algorithms.surrogate import (
    additive_cost,
    bayesian_optimization,
    expected_improvement,
    pairwise_cost,
    ranked,
)
from gph_core.search.proposals import Score

SPACE = ScheduleSpace(12, 6, required_full=(0, 11))  # C(10, 4) = 210 schedules


def proposals(search, value, count):
    """The first schedules that a search proposes when ``value`` scores them."""
    found = []
    asked = next(search)
    while len(found) < count:
        assert asked.rival is None  # all scores go into the fit
        found.append(asked.schedule)
        asked = search.send(Score((value(asked.schedule),)))
    return found


def path_sum(schedule, weights):
    steps = (*schedule.full_steps, schedule.num_steps)
    return sum(weights[a, b] for a, b in itertools.pairwise(steps))


@pytest.mark.parametrize(
    "space",
    [
        SPACE,
        ScheduleSpace(9, 3, required_full=(0, 1, 4, 5)),
        ScheduleSpace(7, 0),
        ScheduleSpace(7, 6),
        ScheduleSpace(1, 0),
    ],
)
def test_schedules_are_ranked_as_by_listing_them_all(space):
    weights = np.random.default_rng(0).normal(size=(space.num_steps, space.num_steps + 1))
    found = list(ranked(space, weights))
    listed = sorted(space, key=lambda schedule: -path_sum(schedule, weights))
    assert found == listed


def test_equal_schedules_are_ranked_in_any_order_but_all_once():
    found = list(ranked(SPACE, np.zeros((12, 13))))
    assert len(found) == 210
    assert set(found) == set(SPACE)


def test_the_first_of_a_space_too_large_to_list_has_the_largest_weights():
    space = ScheduleSpace(50, 29, required_full=(0, 1, 2, 49))
    values = np.random.default_rng(1).permutation(51).astype(float)  # whole: no ties by rounding
    free = sorted(space.free_steps, key=lambda step: -values[step])
    first, second = itertools.islice(ranked(space, np.tile(values, (50, 1))), 2)
    assert first == Schedule((0, 1, 2, 49, *free[:17]), 50)
    # The least of the best is the cheapest to give up, for the best of the others.
    assert second == Schedule((0, 1, 2, 49, *free[:16], free[17]), 50)


WEIGHTS = (0, 9, 3, 8, 1, 0, 7, 2, 0, 6, 4, 0)


def additive(schedule):
    return float(sum(WEIGHTS[step] for step in schedule.full_steps))


def pairwise(schedule):
    """Depends on gaps alone, which no weight of single steps expresses."""
    steps = (*schedule.full_steps, 12)
    return -float(sum((b - a) ** 2 * (12 - a) for a, b in itertools.pairwise(steps)))


def test_the_additive_cost_proposes_what_is_best_after_its_first_fit():
    search = additive_cost(SPACE, random.Random(0), initial=60, batch=10)
    batch = proposals(search, additive, 70)[60:]
    seen = set(proposals(additive_cost(SPACE, random.Random(0), initial=60), additive, 60))
    unseen = sorted((additive(s) for s in SPACE if s not in seen), reverse=True)
    assert [additive(schedule) for schedule in batch] == unseen[:10]


def test_the_pairwise_cost_proposes_what_is_best_after_its_first_fit():
    search = pairwise_cost(SPACE, random.Random(2), initial=80)
    assert proposals(search, pairwise, 81).index(max(SPACE, key=pairwise)) == 80


def test_a_batch_holds_only_what_is_new():
    found = proposals(additive_cost(SPACE, random.Random(0), initial=30, batch=20), additive, 130)
    learned = found[30:]
    assert len(set(learned)) == len(learned)
    assert not set(learned) & set(found[:30])


@pytest.mark.parametrize(
    "search",
    [additive_cost, pairwise_cost, pytest.param(bayesian_optimization, marks=pytest.mark.long)],
)
def test_a_model_ends_when_the_space_is_seen(search):
    space = ScheduleSpace(6, 3)
    with pytest.raises(StopIteration):
        proposals(search(space, random.Random(0), initial=4), lambda s: 1.0, 100)


def test_expected_improvement_matches_hand_computation():
    # At the best with deviation 1 it is the normal density at 0; far above it is the difference;
    # far below it vanishes; one deviation above it is 1 cdf(1) + pdf(1) = 0.8413447 + 0.2419707.
    mean = np.array([3.0, 13.0, -7.0, 4.0])
    found = expected_improvement(mean, np.ones(4), 3.0)
    np.testing.assert_allclose(found, [0.3989423, 10.0, 0.0, 1.0833155], atol=1e-7)


def test_where_trees_agree_the_improvement_is_the_difference():
    found = expected_improvement(np.array([2.0, 5.0]), np.zeros(2), 3.0)
    np.testing.assert_allclose(found, [0.0, 2.0], atol=1e-8)


@pytest.mark.long
def test_bayesian_optimization_draws_its_candidates_where_a_space_is_large():
    space = ScheduleSpace(20, 12, required_full=(0, 19))  # C(18, 6) = 18 564 schedules

    def value(schedule):
        return -float(abs(sum(schedule.full_steps) - 60))

    search = bayesian_optimization(space, random.Random(0), initial=30, pool=200)
    found = proposals(search, value, 105)
    assert all(schedule in space for schedule in found)
    assert len(set(found[30:])) == 75


def test_without_scikit_learn_the_search_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(ImportError, match="needs the package scikit-learn; install it with: pip"):
        next(bayesian_optimization(SPACE, random.Random(0)))
