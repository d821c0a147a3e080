import itertools
import json
import random
import re
import time
from pathlib import Path

import pytest

from gph_core.schedule import Schedule, ScheduleSpace, image_uniform, uniform

from ..support import broken


@pytest.mark.parametrize("value", [None, 13, [0, 1, 5]])
def test_what_is_no_text_is_named(value):
    message = f"the schedule must be a text such as '0-2,5,9/10'; found {value}"
    with pytest.raises(TypeError, match=re.escape(message)):
        Schedule.parse(value)


# The page has a parser of its own, which is held to the same table.
TEXTS = json.loads((Path(__file__).parents[1] / "web" / "schedule_texts.json").read_text("utf-8"))


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: ascii(case["text"]))
def test_python_and_the_page_read_a_text_alike(case):
    if "error" in case:
        with pytest.raises(ValueError, match=f"^{re.escape(case['error'])}$"):
            Schedule.parse(case["text"])
    else:
        assert Schedule.parse(case["text"]) == Schedule(tuple(case["full"]), case["steps"])


@pytest.mark.parametrize(
    ("full_steps", "num_steps"), [((0, 7), 5), ((-1, 0), 5), ((), 5), ((0,), 0)]
)
def test_an_impossible_schedule_cannot_be_made(full_steps, num_steps):
    with pytest.raises(ValueError, match="step"):
        Schedule(full_steps, num_steps)


@pytest.mark.parametrize("text", ["0-3,5,8,13,27,49/50", "0/1", "0,2,4/5", "0-9/10", "0,1,3,4/6"])
def test_text_form_survives_a_round_trip(text):
    schedule = Schedule.parse(text)
    assert Schedule.parse(str(schedule)) == schedule
    assert Schedule.parse(schedule.bits) == schedule


def test_text_form_joins_consecutive_steps():
    assert str(Schedule((0, 1, 2, 4, 6, 7), 9)) == "0-2,4,6-7/9"


def test_counts_bits_and_ratio():
    schedule = Schedule((0, 1, 3), 5)
    assert schedule.bits == "00101"
    assert schedule.cached_steps == (2, 4)
    assert (schedule.num_full, schedule.num_cached, schedule.cache_ratio) == (3, 2, 0.4)


def test_equal_schedules_have_one_hash():
    assert len({Schedule((0, 2), 3), Schedule((2, 0, 0), 3), Schedule.parse("0,2/3")}) == 1


def test_a_swap_has_distance_two():
    schedule = Schedule((0, 1, 3), 6)
    swapped = schedule.swap(3, 4)
    assert swapped.full_steps == (0, 1, 4)
    assert schedule.distance(swapped) == 2
    assert schedule.distance(schedule) == 0


def test_a_swap_needs_a_full_and_a_cached_step():
    with pytest.raises(ValueError, match="step 2 is cached, step 1 is full"):
        Schedule((0, 1, 3), 6).swap(2, 1)


def test_schedules_of_different_length_have_no_distance():
    with pytest.raises(ValueError, match="5 and 6 steps"):
        Schedule((0,), 5).distance(Schedule((0,), 6))


def test_uniform_matches_the_published_video_schedule():
    assert uniform(50, 9).full_steps == (0, 1, 2, 9, 17, 25, 33, 41, 49)


@pytest.mark.parametrize(
    ("num_full", "full_steps"),
    [(1, (0,)), (2, (0, 49)), (3, (0, 1, 49)), (4, (0, 1, 2, 49)), (5, (0, 1, 2, 25, 49))],
)
def test_uniform_with_few_full_steps_drops_forced_ones(num_full, full_steps):
    # 5 full: one extra step at 2 + floor(47 / 2) = 25.
    assert uniform(50, num_full).full_steps == full_steps


@pytest.mark.parametrize(
    ("first_full", "full_steps"),
    [
        (1, (0, 6, 12, 19)),  # 0 + floor((i + 1) 19 / 3)
        (2, (0, 1, 10, 19)),  # 1 + floor(18 / 2)
        (3, (0, 1, 2, 19)),
        (9, (0, 1, 2, 19)),
    ],
)
def test_uniform_spaces_the_rest_after_the_first_ones(first_full, full_steps):
    assert uniform(20, 4, first_full).full_steps == full_steps


def test_uniform_always_has_the_asked_number_of_full_steps():
    for num_steps, first_full in itertools.product(range(1, 61), (1, 2, 3, 70)):
        for num_full in range(1, num_steps + 1):
            assert uniform(num_steps, num_full, first_full).num_full == num_full


def test_uniform_begins_with_a_full_step():
    with pytest.raises(ValueError, match="0 first steps cannot be full; at least one has to be"):
        uniform(20, 4, first_full=0)


def test_uniform_refuses_more_full_steps_than_steps():
    with pytest.raises(ValueError, match="6 full steps do not fit into 5 steps"):
        uniform(5, 6)


@pytest.mark.parametrize(
    "text",
    [
        "0,1,2,3,6,9,11,14,17,20,23,25,28,31,34,37,40,42,45,48,49/50",
        "0,1,2,3,9,14,20,25,31,37,42,48,49/50",
        "0,1,2,3,14,25,37,48,49/50",
    ],
)
def test_the_rule_for_images_gives_the_published_schedules(text):
    schedule = Schedule.parse(text)
    assert image_uniform(50, schedule.num_full) == schedule


@pytest.mark.parametrize(
    ("num_full", "full_steps"),
    [(1, (0,)), (3, (0, 1, 49)), (4, (0, 1, 2, 49)), (5, (0, 1, 2, 26, 49)), (50, range(50))],
)
def test_the_rule_for_images_with_few_and_many_full_steps(num_full, full_steps):
    # 5 full: one extra step, the 24th of the 46 from 3 on.
    assert image_uniform(50, num_full).full_steps == tuple(full_steps)


def test_the_rule_for_images_never_gives_two_full_steps_one_place():
    for num_steps in range(1, 61):
        for num_full in range(1, num_steps + 1):
            assert image_uniform(num_steps, num_full).num_full == num_full
    with pytest.raises(ValueError, match="6 full steps do not fit into 5 steps"):
        image_uniform(5, 6)


@pytest.mark.parametrize(
    ("num_cached", "size"),
    [(41, 1_370_754), (37, 1_101_716_330), (29, 1_749_695_026_860)],
)
def test_space_sizes_match_the_paper(num_cached, size):
    assert ScheduleSpace(50, num_cached, required_full=(0, 1, 2, 49)).size == size


def test_space_lists_every_schedule_once():
    space = ScheduleSpace(5, 2, required_full=(0, 4))
    assert [s.full_steps for s in space] == [(0, 1, 4), (0, 2, 4), (0, 3, 4)]
    assert space.size == 3


def test_samples_and_neighbors_stay_in_the_space():
    space = ScheduleSpace(20, 12, required_full=(0, 1, 19))
    rng = random.Random(0)
    for schedule in (space.sample(rng) for _ in range(20)):
        assert schedule in space
        neighbors = space.neighbors(schedule)
        # 5 movable full steps, 12 cached ones
        assert len(set(neighbors)) == len(neighbors) == 60
        assert all(n in space and n.distance(schedule) == 2 for n in neighbors)


def test_sampling_reaches_every_schedule_equally_often():
    space = ScheduleSpace(5, 2)  # C(4, 2) = 6 schedules
    rng = random.Random(0)
    counts: dict[Schedule, int] = {}
    for _ in range(6000):
        schedule = space.sample(rng)
        counts[schedule] = counts.get(schedule, 0) + 1
    assert len(counts) == 6
    # Mean 1000, standard deviation 29: five of them either way.
    assert all(855 < count < 1145 for count in counts.values())


def test_a_schedule_outside_the_space_has_no_neighbors():
    with pytest.raises(ValueError, match="not in this space"):
        ScheduleSpace(5, 2, required_full=(0, 4)).neighbors(Schedule((0, 1, 2), 5))


@pytest.mark.parametrize(("num_cached", "required"), [(4, (0, 4)), (-1, (0,)), (1, (0, 5))])
def test_an_empty_space_is_refused(num_cached, required):
    with pytest.raises(ValueError, match=r"cannot be cached|outside"):
        ScheduleSpace(5, num_cached, required_full=required)


@pytest.mark.parametrize(
    ("first", "num_steps", "first_full", "part"),
    [
        (0, 10, 1, "0,2,7/10"),
        (0, 5, 1, "0,2/5"),
        (5, 5, 1, "0,2/5"),  # step 5 is cached in the whole
        (7, 3, 1, "0/3"),
        (5, 5, 2, "0-2/5"),
        (3, 4, 2, "0-1/4"),
        (9, 1, 2, "0/1"),
        (0, 2, 3, "0-1/2"),
    ],
)
def test_a_part_counts_from_its_own_first_step_and_begins_full(first, num_steps, first_full, part):
    whole = Schedule.parse("0,2,7/10")
    assert whole.part(first, num_steps, first_full) == Schedule.parse(part)


@pytest.mark.parametrize(("first", "num_steps"), [(8, 3), (-1, 5), (0, 11), (4, 0)])
def test_a_part_lies_inside_the_schedule(first, num_steps):
    message = f"steps {first} to {first + num_steps - 1} are not part of 10 steps"
    with pytest.raises(ValueError, match=message):
        Schedule.parse("0,2,7/10").part(first, num_steps)


def test_broken_texts_are_refused_in_few_words_and_at_once():
    began = time.perf_counter()
    refused = 0
    for seed in range(300):
        text = broken.wrong_schedule(random.Random(seed))
        try:
            assert Schedule.parse(str(Schedule.parse(text))) == Schedule.parse(text)
        except ValueError as error:
            refused += 1
            assert len(str(error)) < 600  # noqa: PT017 - some of these texts are schedules
    assert refused > 150
    assert time.perf_counter() - began < 60  # one of them took 40 s
