"""Where noise levels lie among others, by the definition: every place is compared in full."""

import random

from gph_core.paths.places import GRID_TOLERANCE, begin_in, same_levels


def distance(levels, others):
    return max((abs(a - b) for a, b in zip(levels, others, strict=True)), default=0.0)


def are_same(levels, others):
    return distance(levels, others) <= GRID_TOLERANCE * max(levels, default=0)


def levels_with_a_part(draw):
    """Levels, some of them close together, and a part of them that may be rounded too far."""
    levels = [draw.choice([draw.random(), 1 - draw.random() / 100]) for _ in range(12)]
    levels.sort(reverse=True)
    first = draw.randrange(12)
    rounding = draw.choice([0.0, 0.0004, 0.004, 0.006])
    part = levels[first : first + draw.randint(1, 8)]
    return levels, [level + draw.uniform(-rounding, rounding) for level in part]


def test_a_part_begins_at_the_nearest_place_where_all_its_levels_are():
    draw, found = random.Random(2), 0
    for _ in range(500):
        levels, part = levels_with_a_part(draw)
        slices = {n: levels[n : n + len(part)] for n in range(12 - len(part) + 1)}
        same = [n for n, own in slices.items() if are_same(own, part)]
        expected = min(same, key=lambda n: distance(slices[n], part), default=None)
        assert begin_in(levels, part) == expected
        found += expected is not None
    assert 100 < found < 450


def test_levels_are_the_same_up_to_the_tolerance_of_the_highest():
    assert same_levels([1.0, 0.5], [1.0, 0.5049])
    assert not same_levels([1.0, 0.5], [1.0, 0.5051])
    assert not same_levels([1.0, 0.5], [1.0])
    assert begin_in([1.0], [1.0, 0.5]) is None
