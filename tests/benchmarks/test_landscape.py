"""A space that is wholly scored, against hand computation, the paper and the search's own climb."""

import random

import numpy as np
import pytest
from golden_path_pack.gph_core.schedule import Schedule, ScheduleSpace
from golden_path_pack.gph_core.search.algorithms.local import steepest_ascent
from golden_path_pack.gph_core.search.proposals import END_OF_UNIT, Proposal, Score

from benchmarks.study.landscape import near_best_mean, near_every_optimum, optima, shared

# GPH paper, K = 41 on FLUX.1-dev: the optimum of each run, and what the schedule with the best
# mean has there.
OPTIMA = [22.334, 28.621, 20.915, 20.765]
BEST_MEAN = [21.086, 28.590, 20.813, 20.496]
REGRETS = [1.249, 0.030, 0.102, 0.269]


def test_the_shared_schedule_of_the_paper():
    alone = [[best if m == n else 10.0 for m in range(4)] for n, best in enumerate(OPTIMA)]
    found = shared([*alone, BEST_MEAN])
    assert found.row == 4
    assert found.mean == pytest.approx(22.746, abs=0.0006)
    np.testing.assert_allclose(found.regrets, REGRETS, atol=0.0015)  # of numbers that were rounded
    assert found.regrets.mean() == pytest.approx(0.412, abs=0.001)


def test_near_optimal_counts_by_hand():
    # Means 4, 3.75, 3.5 and 2; gaps to the optima 5 and 4 of the prompts.
    quality = [[5.0, 3.0], [4.0, 3.5], [3.0, 4.0], [1.0, 3.0]]
    assert near_best_mean(quality, [0.0, 0.25, 0.5, 1.9, 2.0]) == [1, 2, 3, 3, 4]
    assert [near_every_optimum(quality, margin) for margin in (0.5, 1.0, 2.0, 4.0)] == [0, 2, 3, 4]


# Of the steps 1 to 4 two are full. A swap leads everywhere but to the schedule with the other two,
# so the best one and that are optima, and all others climb to the best.
SPACE = ScheduleSpace(5, 2)
MEANS = {(1, 2): 5.0, (1, 3): 1.0, (1, 4): 2.0, (2, 3): 3.0, (2, 4): 0.0, (3, 4): 4.0}


def climbs(starts=None):
    means = [MEANS[schedule.full_steps[1:]] for schedule in SPACE]
    found = optima(SPACE, means, starts)
    return [(schedule.full_steps[1:], regret, share) for schedule, regret, share in found]


def test_basins_by_hand():
    assert climbs() == [((1, 2), 0.0, 5 / 6), ((3, 4), 1.0, 1 / 6)]


def test_climbs_from_some_schedules_alone():
    starts = [Schedule((0, *steps), 5) for steps in ((3, 4), (2, 4), (3, 4), (1, 2))]
    assert climbs(starts) == [((1, 2), 0.0, 1 / 2), ((3, 4), 1.0, 1 / 2)]


def climbed(space, means, start):
    """Where the search of the same name ends its first climb."""
    search = steepest_ascent(space, random.Random(0), [start])
    proposal, best = next(search), start
    while proposal is not END_OF_UNIT:
        assert isinstance(proposal, Proposal)
        best = max(best, proposal.schedule, key=means.__getitem__)
        proposal = search.send(Score((means[proposal.schedule],)))
    return best


def test_climbs_end_where_those_of_the_search_end():
    space = ScheduleSpace(9, 5)
    values = np.random.default_rng(0).normal(size=space.size)
    means = dict(zip(space, values.tolist(), strict=True))
    ends = [climbed(space, means, start) for start in space]
    found = optima(space, values)
    assert len(found) > 1
    assert {o.schedule: round(o.share * space.size) for o in found} == {
        end: ends.count(end) for end in ends
    }
    assert [o.regret for o in found] == sorted(max(values) - means[o.schedule] for o in found)


def test_a_space_of_one_schedule_is_its_own_optimum():
    (found,) = optima(ScheduleSpace(3, 0), [7.0])
    assert found == (Schedule.all_full(3), 0.0, 1.0)


def test_means_of_another_space_are_refused():
    with pytest.raises(ValueError, match=r"the space has 6 schedules, the means are \(5,\)"):
        optima(SPACE, np.zeros(5))
