"""Annealing as the GPH paper does it, and BudCache's with the settings of its sources."""

import math
import random
from fractions import Fraction

import pytest

from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search.algorithms.annealing import (
    as_in_seed_paper,
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


def play(found, value=lambda schedule: float(sum(schedule.full_steps)) / 1000):
    """All proposals of a search with their answers; it has to end by itself."""
    asked, played = next(found.search), []
    while asked is not END_OF_UNIT:
        answer = Score((value(asked.schedule),))
        played.append((asked, answer))
        asked = found.search.send(answer)
    assert next(found.search, None) is None
    return played


def test_the_seed_papers_space_is_that_of_its_searches():
    space = as_in_seed_paper(50, 9, random.Random(0)).space
    assert space.required_full == (0, 1, 2, 49)
    assert space.size == 1_370_754
    with pytest.raises(ValueError, match="47 of 50 steps cannot be cached while 4 are required"):
        as_in_seed_paper(50, 3, random.Random(0))


def test_one_chain_of_200_proposals_at_its_own_temperatures():
    played = play(as_in_seed_paper(50, 9, random.Random(0)))
    leads = [-asked.lead for asked, _ in played[1:201]]
    # A lead is T ln u with u uniform: -lead / T is exponential, so its mean is 1 ± 0.35 (5 σ).
    ratios = [lead / t for lead, t in zip(leads, cooling(0.05, 1e-5, 200), strict=True)]
    assert sum(ratios) / 200 == pytest.approx(1, abs=0.35)
    assert all(asked.lead == 0 for asked, _ in played[201:])  # the ascent takes no risk


def moved(played):
    """How many steps each proposal of the chain moves against where the chain stands."""
    state, counts = played[0], []
    for asked, answer in played[1:201]:
        counts.append(asked.schedule.distance(state[0].schedule) // 2)
        if answer.mean > asked.rival.mean + asked.lead:
            state = asked, answer
    return counts


def test_the_seed_papers_proposals_move_one_step():
    assert set(moved(play(as_in_seed_paper(50, 9, random.Random(0))))) == {1}


def test_the_seed_papers_ascent_has_no_far_moves_and_ends_after_20_rounds():
    def value(schedule):  # a slope so long that the ascent does not arrive
        return -math.log1p(sum(schedule.full_steps))

    found = as_in_seed_paper(200, 30, random.Random(0))
    played = play(found, value)
    best = max(played[:201], key=lambda pair: pair[1].mean)[0].schedule
    ascent = [asked.schedule for asked, _ in played[201:]]
    for _ in range(20):
        around = local_neighbors(found.space, best)
        assert ascent[: len(around)] == around
        ascent = ascent[len(around) :]
        best = max(around, key=value)
    assert ascent == []
    assert isinstance(best, Schedule)
