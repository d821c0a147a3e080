import pytest

from gph_core.schedule import Schedule, uniform
from gph_core.speeds import SPEEDS, published_paths, resolve


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
