import itertools
import random
from fractions import Fraction

from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search.algorithms.population import ant_colony, evolution, paths_along, recombined
from gph_core.search.proposals import END_OF_UNIT, Score

from ...support.every_chance import distribution

SPACE = ScheduleSpace(12, 8)


def test_a_child_keeps_what_its_parents_share_and_draws_the_rest_from_them():
    one, other = Schedule((0, 1, 4, 6), 12), Schedule((0, 1, 5, 9), 12)
    found = distribution(lambda rng: recombined(one, other, rng).full_steps)
    # Two of 4, 5, 6, 9: six ways.
    expected = itertools.combinations((4, 5, 6, 9), 2)
    assert found == {(0, 1, *pair): Fraction(1, 6) for pair in expected}


def test_a_child_must_beat_the_worst_of_the_population_and_then_replaces_it():
    search = evolution(SPACE, random.Random(0), size=5, patience=50)
    population = {}
    asked = next(search)
    while asked.rival is None:
        score = Score((float(sum(asked.schedule.full_steps)),))
        population[asked.schedule] = score
        asked = search.send(score)
    assert len(population) == 5
    while asked is not END_OF_UNIT:
        worst = min(population, key=lambda s: population[s].mean)
        assert asked.rival == population[worst]
        score = Score((float(sum(asked.schedule.full_steps)),))
        if asked.schedule not in population and score.mean > asked.rival.mean:
            del population[worst]
            population[asked.schedule] = score
        asked = search.send(score)
    # 9 + 10 + 11 is the most that three free steps can add up to.
    assert max(population, key=lambda s: population[s].mean) == Schedule((0, 9, 10, 11), 12)


def test_evolution_begins_anew_when_no_child_has_entered_for_long():
    search = evolution(SPACE, random.Random(0), size=5, patience=30)
    asked, counts = next(search), []
    for _ in range(2):
        counts.append(0)
        while asked is not END_OF_UNIT:
            counts[-1] += 1
            asked = search.send(Score((0.0,)))  # nothing is better than the worst
        asked = search.send(None)
    assert counts == [35, 35]


def test_an_ant_draws_without_replacement():
    # Steps 1 and 2, in this order or the other: 0.6 x 0.3 / 0.4 + 0.3 x 0.6 / 0.7 = 0.707.
    space = ScheduleSpace(4, 1)
    paths = paths_along(space, {1: 0.6, 2: 0.3, 3: 0.1}, random.Random(0))
    drawn = [schedule.full_steps for schedule in itertools.islice(paths, 6000)]
    assert abs(drawn.count((0, 1, 2)) - 4243) < 200  # deviation 35


def test_pheromone_gathers_on_the_steps_of_the_best():
    search = ant_colony(SPACE, random.Random(0), patience=30)
    asked, drawn = next(search), []
    while asked is not END_OF_UNIT:
        drawn.append(asked.schedule)
        asked = search.send(Score((float(sum(asked.schedule.full_steps)),)))
    best = Schedule((0, 9, 10, 11), 12)
    assert best in drawn
    # With limits of 0.01 and 0.99 an ant leaves the three best steps with about 1 - 0.97^3.
    assert drawn[-100:].count(best) > 60
    assert drawn[:100].count(best) < 20


def test_the_best_of_a_round_is_the_rival_of_its_other_ants():
    search = ant_colony(SPACE, random.Random(0), ants=4)
    asked, rivals = next(search), []
    for n in range(12):
        rivals.append(asked.rival)
        asked = search.send(Score((float(n % 3),)))
    means = [rival and rival.mean for rival in rivals]
    # Scores 0 1 2 0, 1 2 0 1, 2 0 1 2 in rounds of four.
    assert means == [None, 0, 1, 2, None, 1, 2, 2, None, 2, 2, 2]


def test_a_colony_begins_anew_when_its_best_has_stood_for_long():
    search = ant_colony(SPACE, random.Random(0), ants=5, patience=4)
    asked, count = next(search), 0
    while asked is not END_OF_UNIT:
        count += 1
        asked = search.send(Score((0.0,)))
    assert count == 25  # a first round, then four that bring nothing
    assert search.send(None).rival is None
