import random

from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search.algorithms.local import coordinate_ascent, hill_climbing, steepest_ascent
from gph_core.search.proposals import BEGIN_OF_UNIT, END_OF_UNIT, Proposal, Score
from gph_core.search.study import Study

from ...support.made_examples import MadeExamples

SPACE = ScheduleSpace(9, 6)  # two full steps beside step 0 among eight
START = Schedule((0, 1, 2), 9)


def value(schedule):
    """Falls with the distance of the two free full steps from 5 and 8."""
    _, a, b = schedule.full_steps
    return -float(abs(a - 5) + abs(b - 8))


def unit(search):
    """The proposals of the first unit and their scores."""
    found = []
    asked = next(search)
    while asked is not END_OF_UNIT:
        score = None
        if isinstance(asked, Proposal):
            score = Score((value(asked.schedule),))
            found.append((asked, score))
        asked = search.send(score)
    return found


def test_steepest_ascent_moves_to_the_best_neighbor_of_all():
    asked = [
        proposal.schedule for proposal, _ in unit(steepest_ascent(SPACE, random.Random(0), [START]))
    ]
    # From 1, 2 (-10): the best swaps give 1, 8 and 2, 8 (-4 and -3). From there: 5, 8 (0).
    path = [START, Schedule((0, 2, 8), 9), Schedule((0, 5, 8), 9)]
    assert asked[0] == START
    rounds = [asked[1:13], asked[13:25], asked[25:]]  # 2 x 6 neighbors each
    for state, around in zip(path, rounds, strict=True):
        assert set(around) == set(SPACE.neighbors(state))


def test_steepest_ascent_needs_a_neighbor_to_beat_the_best_before_it():
    best = None
    for proposal, score in unit(steepest_ascent(SPACE, random.Random(0), [START])):
        assert proposal.rival is best
        assert proposal.lead == 0
        if best is None or score.mean > best.mean:
            best = score


def test_hill_climbing_moves_to_the_first_better_neighbor():
    state, score = None, None
    for proposal, found in unit(hill_climbing(SPACE, random.Random(0), [START])):
        assert proposal.rival is score
        assert state is None or proposal.schedule in SPACE.neighbors(state)
        if score is None or found.mean > score.mean:
            state, score = proposal.schedule, found
    assert state == Schedule((0, 5, 8), 9)


def test_a_climb_ends_when_every_neighbor_was_tried():
    asked = [p.schedule for p, _ in unit(hill_climbing(SPACE, random.Random(0), [START]))]
    assert set(asked[-12:]) == set(SPACE.neighbors(Schedule((0, 5, 8), 9)))


def test_hill_climbing_takes_neighbors_in_random_order():
    def second(seed):
        search = hill_climbing(SPACE, random.Random(seed), [START])
        next(search)
        return search.send(Score((0.0,))).schedule

    assert len({second(seed) for seed in range(200)}) == 12


def test_coordinate_ascent_puts_each_step_in_its_best_place():
    class Begin(random.Random):
        def sample(self, population, k, **_):
            return [1, 2]

    search = coordinate_ascent(SPACE, Begin())
    sweeps = [[p.schedule.full_steps for p, _ in unit(search)]]
    asked = search.send(None)
    sweeps.append([])
    while asked is not END_OF_UNIT:
        sweeps[-1].append(asked.schedule.full_steps)
        asked = search.send(Score((value(asked.schedule),)))
    # The first slot: step 1 goes to 8, beyond step 2. So the second slot is that of 8, which stays.
    # The second sweep moves 2 to 5.
    places = [3, 4, 5, 6, 7]
    first = [(0, 2, p) for p in (*places, 8)]
    assert sweeps[0] == [(0, 1, 2), *first, (0, 1, 2), *[(0, 2, p) for p in places]]
    assert (0, 5, 8) in sweeps[1]


def test_coordinate_ascent_starts_anew_after_a_sweep_without_change():
    search = coordinate_ascent(SPACE, random.Random(0))
    rivals = []
    asked = next(search)
    for _ in range(200):
        if not isinstance(asked, Proposal):
            rivals.append(asked)
            asked = search.send(None)
        else:
            rivals.append(asked.rival)
            asked = search.send(Score((0.0,)))  # a plateau: no sweep changes anything
    sweep = [None, BEGIN_OF_UNIT, *[Score((0.0,))] * 12, END_OF_UNIT]
    assert rivals[:30] == sweep * 2


def test_the_first_sweep_counts_for_the_rule_that_stops_a_study():
    # Its start is scored before, so two sweeps of 2 x 6 places without a gain are enough.
    answered = []

    def counted(search):
        score = None
        while True:
            asked = search.send(score)
            score = yield asked
            answered.append(score)

    study = Study(MadeExamples(lambda _, example: float(example)))
    assert "no clear gain" in study.run(counted(coordinate_ascent(SPACE, random.Random(0))))
    assert sum(score is not None for score in answered) == 2 * (1 + 12)
