import pytest

from gph_core.schedule import Schedule, uniform
from gph_core.speeds import SPEEDS, fit, published_paths, resolve


@pytest.mark.parametrize(("speed", "num_full"), [("Quality", 21), ("Balanced", 13), ("Fast", 9)])
def test_speeds_are_the_cache_ratios_of_the_paper(speed, num_full):
    assert resolve(speed, 50, "FLUX").schedule.num_full == num_full
    assert resolve(speed, 50, None).schedule.num_full == num_full


def test_flux_at_50_steps_takes_the_published_path():
    choice = resolve("Fast", 50, "FLUX")
    assert choice.schedule.full_steps == (0, 1, 2, 3, 5, 8, 13, 27, 49)
    assert choice.origin == "published for FLUX.1-dev"


@pytest.mark.parametrize(("num_steps", "family"), [(49, "FLUX"), (50, "another")])
def test_everything_else_is_uniform(num_steps, family):
    choice = resolve("Fast", num_steps, family)
    assert choice.schedule == uniform(num_steps, 9)
    assert choice.origin == "uniform spacing"


def test_every_step_count_is_resolved():
    for speed, ratio in SPEEDS.items():
        for num_steps in range(1, 201):
            schedule = resolve(speed, num_steps, "FLUX").schedule
            assert schedule.num_steps == num_steps
            assert schedule.num_full >= min(4, num_steps)
            if num_steps * (1 - ratio) >= 4:
                assert abs(schedule.num_cached - ratio * num_steps) <= 0.5


def test_an_unknown_speed_is_refused():
    with pytest.raises(ValueError, match="'Warp' is not a speed; choose one of Quality, Balanced"):
        resolve("Warp", 50, None)


def test_bundled_paths_are_valid_and_name_their_source():
    for path in published_paths():
        schedule = Schedule.parse(path["schedule"])
        assert str(schedule) == path["schedule"]
        assert schedule.full_steps[-1] == schedule.num_steps - 1
        assert path["source"]
        assert path["conditions"]


TEN = tuple(1 - n / 10 for n in range(11))  # noise levels of ten steps


@pytest.mark.parametrize(
    ("sigmas", "first_full", "part", "steps"),
    [
        (TEN[:6], 1, "0,2/5", "0 to 4"),  # head
        (TEN[:6], 2, "0-2/5", "0 to 4"),
        (TEN[:2], 2, "0/1", "0 to 0"),
        ((0.9995, *TEN[1:6]), 1, "0,2/5", "0 to 4"),  # some samplers lower the first level
        (TEN[5:], 1, "0,2/5", "5 to 9"),  # tail: step 7 is its step 2
        (TEN[5:], 2, "0-2/5", "5 to 9"),
        (TEN[7:], 1, "0/3", "7 to 9"),
        (TEN[8:], 2, "0-1/2", "8 to 9"),
    ],
)
def test_a_run_of_fewer_steps_takes_its_part_of_a_schedule(sigmas, first_full, part, steps):
    choice = fit(Schedule.parse("0,2,7/10"), sigmas, 1.0, first_full)
    assert choice.schedule == Schedule.parse(part)
    assert choice.origin == f"steps {steps} of your schedule 0,2,7/10"


@pytest.mark.parametrize(
    "sigmas",
    [
        TEN,
        (*TEN[1:6], 0.45, 0.4, 0.3, 0.2, 0.1, 0.0),  # image to image in ten steps
        TEN[2:8],  # neither head nor tail
        TEN[::2],  # from noise to the end in fewer steps
        (1.0, 0.95, *TEN[1:]),  # longer than the schedule
        (1.0, 0.95, *TEN[1:10]),
    ],
)
def test_any_other_run_keeps_the_whole_schedule(sigmas):
    schedule = Schedule.parse("0,2,7/10")
    assert fit(schedule, sigmas, 1.0, first_full=2) == (schedule, "your schedule", 0)


def test_a_part_in_the_middle_is_no_run_of_its_own():
    schedule = Schedule.parse("0,2,7/10")
    assert fit(schedule, TEN[:6], 1.0, continues=True) == (schedule, "your schedule", 0)


def test_latents_that_get_no_noise_are_continued_whatever_their_level():
    # With 1,000 steps and a large shift the second level is hardly below the first.
    schedule = Schedule.parse("0,2,7/10")
    sigmas = (0.9999, *TEN[6:])
    assert fit(schedule, sigmas, 1.0, continues=True).schedule == Schedule.parse("0,2/5")


def test_the_first_part_may_begin_below_pure_noise():
    # The scheduler ddim_uniform does.
    schedule = Schedule.parse("0,2,7/10")
    assert fit(schedule, (0.98, *TEN[1:6]), 1.0).schedule == Schedule.parse("0,2/5")


def test_pure_noise_is_what_the_model_calls_so():
    schedule = Schedule.parse("0,2,7/10")
    sigmas = [80 * level for level in TEN]
    assert fit(schedule, sigmas[:6], 80.0).schedule == Schedule.parse("0,2/5")
    assert fit(schedule, sigmas[5:], 80.0).schedule == Schedule.parse("0,2/5")
