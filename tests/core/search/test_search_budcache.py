"""BudCache with the settings that its sources state."""

import math
import random

import pytest

from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search.algorithms.annealing import (
    BudCache,
    as_in_seed_paper,
    budcache_annealing,
    cooling,
)
from gph_core.search.algorithms.moves import local_neighbors
from gph_core.search.proposals import END_OF_UNIT, Score


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


def test_lower_latent_mse_is_better():
    objective = as_in_seed_paper(28, 10, random.Random(0)).objective
    assert objective.value({"latent_mse": 0.25}) == -0.25


def with_its_own_proposals(num_steps, num_full, rng):
    """The proposals of BudCache's program, of which a tenth moves two steps."""
    space = ScheduleSpace(num_steps, num_steps - num_full, (0, 1))
    return BudCache(space, budcache_annealing(space, rng, restarts=1))


@pytest.mark.parametrize("settings", [with_its_own_proposals, as_in_seed_paper])
def test_one_chain_of_200_proposals_at_its_own_temperatures(settings):
    played = play(settings(50, 9, random.Random(0)))
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


def test_published_proposals_move_two_steps_in_a_tenth_of_the_cases():
    # 200 proposals, standard deviation 4.2: five of them either way.
    assert 1 <= moved(play(with_its_own_proposals(50, 9, random.Random(0)))).count(2) <= 41


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
