import itertools
import random

import pytest

from gph_core.schedule import ScheduleSpace
from gph_core.search.algorithms.moves import local_neighbors
from gph_core.search.algorithms.sampling import (
    exhaustive,
    median_difference,
    probe_pairs,
    random_search,
    temperatures,
)
from gph_core.search.proposals import Score

SPACE = ScheduleSpace(12, 6, required_full=(0, 11))


def test_an_exhaustive_search_that_is_cut_short_has_seen_schedules_of_all_kinds():
    search = exhaustive(SPACE, random.Random(0))  # 210 schedules
    first = [next(search), *(search.send(Score((0.0,))) for _ in range(39))]
    # In lexicographic order step 1 would be full in all forty; it is in four of ten.
    assert 8 <= sum(1 in p.schedule.full_steps for p in first) <= 24


def test_a_space_too_large_to_be_tried_is_refused():
    with pytest.raises(ValueError, match=r"there are 1,370,754 schedules .* choose another"):
        exhaustive(ScheduleSpace(50, 41, required_full=(0, 1, 2, 49)), random.Random(0))


def test_the_rival_is_the_best_so_far():
    search = random_search(SPACE, random.Random(0))
    assert next(search).rival is None
    high, low = Score((2.0,)), Score((1.0,))
    assert search.send(high).rival is high
    assert search.send(low).rival is high


def test_a_probe_pairs_schedules_with_a_swap_of_them():
    space = ScheduleSpace(50, 41, required_full=(0, 1, 2, 49))
    pairs = probe_pairs(space, random.Random(0), 25)
    assert len(pairs) == 25
    assert all(a in space and b in space and a.distance(b) == 2 for a, b in pairs)
    # A swap prefers steps within reach: 25 uniform ones would give about 5 (of 205 some 40).
    local = sum(b in local_neighbors(space, a) for a, b in pairs)
    assert local > 8


def test_the_median_is_of_absolute_differences_of_means():
    a, b, c, d = itertools.islice(SPACE, 4)
    scores = {a: Score((1.0, 3.0)), b: Score((3.0, 4.0)), c: Score((2.0, 2.0)), d: Score((9.0, 9))}
    # Means 2, 3.5, 2, 9: differences 1.5, 0 and 7.
    assert median_difference([(a, b), (a, c), (d, c)], scores) == 1.5
    assert median_difference([], scores) == 0


@pytest.mark.parametrize(
    ("median", "t_max", "t_min"),
    [
        (0.0236, 0.24, 0.00024),
        (0.0347, 0.35, 0.00035),
        (0.0766, 0.77, 0.00077),
    ],
)
def test_temperatures_match_the_table_of_the_source(median, t_max, t_min):
    assert temperatures(median) == (t_max, t_min)


def test_a_plateau_under_the_probe_still_gives_temperatures():
    t_max, t_min = temperatures(0.0)
    assert 0 < t_min < t_max < 1e-6
