import math
import random
from fractions import Fraction

import pytest

from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search.algorithms.annealing import (
    budcache_annealing,
    budcache_swap,
    cooling,
    simulated_annealing,
)
from gph_core.search.algorithms.moves import local_neighbors, local_swap
from gph_core.search.proposals import END_OF_UNIT, Score

from ...support.every_chance import distribution

SPACE = ScheduleSpace(12, 8)
START = Schedule((0, 1, 2, 3), 12)


def value(schedule):
    """A made score, with ups and downs of about a temperature."""
    return random.Random(str(schedule)).gauss(0, 1)


def test_temperatures_fall_by_one_factor_from_the_first_to_before_the_last():
    found = list(cooling(0.5, 1e-4, 200))
    assert len(found) == 200
    assert found[0] == 0.5
    assert found[100] == pytest.approx(math.sqrt(0.5 * 1e-4))
    assert found[199] * (1e-4 / 0.5) ** (1 / 200) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("search", "move"), [(simulated_annealing, local_swap), (budcache_annealing, budcache_swap)]
)
def test_a_chain_accepts_by_the_rule_of_the_source(search, move):
    """The rule with its exponential, applied beside the search to the same random numbers."""
    options = {"t_max": 2.0, "t_min": 0.02, "num_proposals": 300}
    steps = search(SPACE, random.Random(3), [START], **options)
    chance = random.Random(3)
    chance.sample([START], 1)  # the order of the warm starts
    state, accepted_worse = START, 0
    assert next(steps).schedule == START
    answer = Score((value(START),))
    for i in range(300):
        temperature = 2.0 * 0.01 ** (i / 300)
        asked = steps.send(answer)
        candidate = move(SPACE, state, chance)
        assert asked.schedule == candidate
        assert asked.rival.mean == value(state)
        answer = Score((value(candidate),))
        loss = value(state) - value(candidate)
        u = 1 - chance.random()
        is_accepted = loss < 0 or u < math.exp(-loss / temperature)
        assert is_accepted == (answer.mean > asked.rival.mean + asked.lead)
        accepted_worse += is_accepted and loss > 0
        state = candidate if is_accepted else state
    assert 10 < accepted_worse < 280  # else the test would show nothing


def test_a_dropped_proposal_is_not_accepted():
    steps = simulated_annealing(
        SPACE, random.Random(0), [START], t_max=1e9, t_min=1e9, num_proposals=50
    )
    next(steps)
    whole = Score((0.0,))
    answer = whole
    for _ in range(50):
        asked = steps.send(answer)
        assert asked.rival is whole
        assert asked.schedule.distance(START) == 2
        answer = Score((1e9,), is_whole=False)


def after_chain(search, num_proposals, **options):
    """The chain's proposals and scores, then those of the ascent."""
    steps = search(
        SPACE, random.Random(5), [START], num_proposals=num_proposals, t_max=2.0, t_min=1.0,
        **options,
    )  # fmt: skip
    asked, found = next(steps), []
    while asked is not END_OF_UNIT:
        score = Score((value(asked.schedule),))
        found.append((asked, score))
        asked = steps.send(score)
    return found[: num_proposals + 1], found[num_proposals + 1 :]


def last_state(chain):
    state = chain[0]
    for asked, score in chain[1:]:
        if score.mean > asked.rival.mean + asked.lead:
            state = asked, score
    return state


def test_the_chain_is_followed_by_steepest_ascent_within_reach():
    chain, ascent = after_chain(simulated_annealing, 60)
    state, score = last_state(chain)
    schedule = state.schedule
    asked = iter(ascent)
    for _ in range(20):
        around = local_neighbors(SPACE, schedule)
        found = [next(asked)[0].schedule for _ in around]
        assert found == around
        best = max(around, key=value)
        if value(best) <= score.mean:
            break
        schedule, score = best, Score((value(best),))
    assert next(asked, None) is None


def test_the_ascent_ends_after_its_rounds():
    chain, ascent = after_chain(simulated_annealing, 1, rounds=1)
    state, _ = last_state(chain)
    assert [a.schedule for a, _ in ascent] == local_neighbors(SPACE, state.schedule)


def test_budcache_ascends_from_the_best_of_the_chain_with_two_far_moves_of_each_step():
    chain, ascent = after_chain(budcache_annealing, 60, rounds=1)
    accepted = [chain[0]] + [
        (asked, score) for asked, score in chain[1:] if score.mean > asked.rival.mean + asked.lead
    ]
    best = max(accepted, key=lambda pair: pair[1].mean)[0].schedule
    assert best != last_state(chain)[0].schedule  # else the test would show nothing
    asked = [a.schedule for a, _ in ascent]
    near = local_neighbors(SPACE, best)
    assert asked[: len(near)] == near
    far = asked[len(near) :]
    for step in SPACE.movable_steps(best):
        moved = [s for s in far if step not in s.full_steps]
        assert len(set(moved)) == 2
        (places,) = zip(*(set(s.full_steps) - set(best.full_steps) for s in moved), strict=True)
        assert all(abs(place - step) > 3 for place in places)
    assert len(far) == 2 * len(SPACE.movable_steps(best))


def test_budcache_draws_the_full_step_first_and_sometimes_moves_two():
    space, schedule = ScheduleSpace(8, 5), Schedule((0, 1, 6), 8)
    found = distribution(lambda rng: budcache_swap(space, schedule, rng).full_steps)
    # One step, 9/10: 1 or 6 with a half each. 1 goes to each of 2, 3, 4 with 7/10 / 3 + 3/10 / 5
    # and to 5 and 7 with 3/10 / 5; 6 to each of 3, 4, 5, 7 with 7/10 / 4 + 3/10 / 5, to 2 else.
    # Two steps, 1/10: both leave, and each two of the five cached steps have 1/10 of that.
    tenth = Fraction(1, 10)
    far = Fraction(3, 50)
    single = {(0, n, 6): far + Fraction(7, 30) * (n < 5) for n in (2, 3, 4, 5)}
    single[0, 6, 7] = far
    single |= {(0, 1, n): far + Fraction(7, 40) * (n > 2) for n in (2, 3, 4, 5, 7)}
    expected = {steps: 9 * tenth / 2 * share for steps, share in single.items()}
    expected |= {(0, a, b): tenth**2 for a in (2, 3, 4, 5, 7) for b in (2, 3, 4, 5, 7) if a < b}
    assert found == expected


@pytest.mark.parametrize("num_cached", [0, 3])
def test_budcache_keeps_the_only_schedule_of_a_space(num_cached):
    space = ScheduleSpace(4, num_cached)
    (schedule,) = space
    assert budcache_swap(space, schedule, random.Random(0)) == schedule


def test_budcache_moves_one_step_where_there_are_not_two():
    space, schedule = ScheduleSpace(5, 3), Schedule((0, 2), 5)
    found = distribution(lambda rng: budcache_swap(space, schedule, rng).full_steps)
    assert found == {(0, n): Fraction(1, 3) for n in (1, 3, 4)}
