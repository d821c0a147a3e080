import itertools
import math
import re

import pytest

from gph_core.paths.retarget import retarget
from gph_core.schedule import Schedule


def linear(steps):
    return [1 - n / steps for n in range(steps)] + [0.0]


def shifted(steps, shift=3.0):
    return [shift * level / (1 + (shift - 1) * level) for level in linear(steps)]


def longest_run(schedule, levels):
    """Distance from an anchor to the next full step, of the cached runs."""
    ends = (*schedule.full_steps, schedule.num_steps)
    return max((levels[a] - levels[b] for a, b in itertools.pairwise(ends) if b - a > 1), default=0)


def test_every_full_step_becomes_the_steps_of_the_same_noise():
    # 0-2, 5 and 9 of ten linear steps are two each of twenty.
    source = Schedule.parse("0-2,5,9/10")
    found = retarget(source, linear(10), linear(20))
    assert found.full_steps == (0, 1, 2, 3, 4, 5, 10, 11, 18, 19)


@pytest.mark.parametrize("text", ["0-2,5,9/10", "0-3,9/10", "0,3,6,9/10", "0-4,6,8-9/10"])
@pytest.mark.parametrize("num_steps", [5, 10, 15])
def test_no_cached_run_is_longer_than_the_source_or_the_count_demands(text, num_steps):
    source = Schedule.parse(text)
    target = [level**2 for level in linear(num_steps)]
    found = retarget(source, linear(10), target)
    between = itertools.combinations(range(1, num_steps - 1), found.num_full - 2)
    possible = min(
        longest_run(Schedule((0, *steps, num_steps - 1), num_steps), target) for steps in between
    )
    # With fewer full steps than the source has, runs grow in proportion.
    allowed = longest_run(source, linear(10)) * max(1, source.num_full / found.num_full)
    assert longest_run(found, target) <= max(possible, allowed) + 1e-6


@pytest.mark.parametrize("grid", [linear, shifted])
@pytest.mark.parametrize(
    "text",
    [
        "0-11,13,15,17,19,24,30,38,46,49/50", "0-4,6,8,10,14,19,30,43,49/50", "0-3,5,8,13,27,49/50",
        "0,20,49/50", "0-2,30/50", "0/7", "0-6/7", "0,3,4/8", "0/1", "0-1,99/200",
    ],
)  # fmt: skip
def test_equal_grids_give_the_source_back(grid, text):
    source = Schedule.parse(text)
    levels = grid(source.num_steps)
    assert retarget(source, levels, levels) == source


def test_the_count_is_the_ratio_of_the_source_at_every_length():
    source = Schedule.parse("0-3,5,8,13,27,49/50")
    for num_steps in range(1, 201):
        found = retarget(source, shifted(50), shifted(num_steps))
        rounded = (2 * 9 * num_steps + 50) // 100  # 9 N / 50, halves up
        assert found.num_steps == num_steps
        assert found.num_full == min(num_steps, max(4, rounded))


@pytest.mark.parametrize(
    ("num_steps", "first_full"), [(8, 1), (12, 1), (24, 1), (25, 2), (28, 2), (41, 2), (42, 3)]
)
def test_first_steps_and_the_last_are_full(num_steps, first_full):
    # In proportion to three of 50: 3 N / 50 is 1.44 at 24 steps, 1.5 at 25.
    found = retarget(Schedule.parse("0-4,20,49/50"), linear(50), linear(num_steps))
    assert found.full_steps[:first_full] == tuple(range(first_full))
    assert found.full_steps[-1] == num_steps - 1


def test_the_policy_gets_its_anchors_before_the_first_cached_step():
    source = Schedule.parse("0-3,5,8,13,27,49/50")
    found = retarget(source, shifted(50), shifted(20), min_anchors=3)
    assert found.full_steps[:3] == (0, 1, 2)
    assert found.full_steps[3:] == (19,)  # round(20 * 9 / 50) = 4


def test_many_anchors_make_short_runs_longer_in_full():
    source = Schedule.parse("0,4,8/9")
    assert retarget(source, linear(9), linear(6), min_anchors=4).full_steps == (0, 1, 2, 3, 5)
    assert retarget(source, linear(9), linear(3), min_anchors=4).full_steps == (0, 1, 2)


def test_a_last_step_that_the_source_caches_may_stay_cached():
    source = Schedule.parse("0-2,5/10")
    assert retarget(source, linear(10), linear(20)).full_steps[-1] < 19


# --- runs that cover a part -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "end"), [(0, 25), (0, 1), (0, 49), (2, 50), (10, 50), (14, 50), (5, 20), (49, 50)]
)
def test_a_run_of_some_of_the_steps_takes_just_these(first, end):
    source = Schedule.parse("0-3,5,8,13,27,49/50")
    levels = shifted(50)
    found = retarget(source, levels, levels[first : end + 1])
    assert found == source.part(first, end - first)


def test_a_part_has_the_parts_own_ratio():
    # Six of the first 14 steps are full, three of the last 37 after one forced at the begin.
    source = Schedule.parse("0-3,5,8,13,27,49/50")
    noisy = [1 - 0.28 * n / 28 for n in range(29)]  # the first 14 steps' range in 28
    assert retarget(source, linear(50), noisy).num_full == 14
    clean = [0.72 * (1 - n / 18) for n in range(18)] + [0.0]
    # 14 to 49: three of 36, for 18 steps 1.5
    assert retarget(source, linear(50), clean).num_full == 3


def test_a_run_that_leaves_noise_need_not_end_full():
    source = Schedule.parse("0,4,8,12,16,19/20")
    noisy = linear(20)[:11]
    # Full steps 0, 4 and 8 of ten; the next run begins with a full step at 10.
    found = retarget(source, linear(20), noisy)
    assert found.num_full == 3
    assert found.full_steps[-1] < 9


def test_a_scheduler_that_leaves_pure_noise_out_still_begins_at_the_begin():
    source = Schedule.parse("0-2,9,17,25,33,41,49/50")
    lowered = [0.97 * level for level in linear(20)]
    found, expected = (retarget(source, linear(50), grid) for grid in (lowered, linear(20)))
    assert found == expected


def test_models_whose_noise_exceeds_one_are_compared_at_the_same_signal_to_noise():
    def as_variance_exploding(levels):
        return [level / (1 - level) for level in levels]

    source = Schedule.parse("0-3,5,8,13,27,49/50")
    for steps in (12, 20, 40):
        flow = [[0.99 * level for level in shifted(n)] for n in (50, steps)]
        exploding = [as_variance_exploding(levels) for levels in flow]
        assert retarget(source, *exploding) == retarget(source, *flow)
        # Image to image of such a model may begin below 1.
        assert retarget(source, exploding[0], exploding[1][-5:]) == retarget(
            source, flow[0], flow[1][-5:]
        )


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (linear(9), linear(5), "a schedule of 10 steps has 11 noise levels, got 10"),
        (linear(10), [1.0], "1 run's noise levels; between 2 and 1001 are needed"),
        (linear(10), [1.0, 0.5, 0.5], "the run's noise levels do not fall at step 1 "),
        (linear(10)[::-1], linear(5), "the source noise levels do not fall at step 0"),
        (linear(10), [1.0, math.nan], "the run's noise levels are not numbers from 0 up"),
        (linear(10), [14.6, 0.0], "the noise levels go up to 14.6, those of the schedule"),
    ],
)  # fmt: skip
def test_what_cannot_be_retargeted_is_refused_with_the_reason(source, target, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        retarget(Schedule.parse("0-2,5,9/10"), source, target)
