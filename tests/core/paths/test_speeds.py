import pytest

from gph_core.paths.choice import SPACED, Choice, Conditions
from gph_core.paths.library import bundled_paths
from gph_core.paths.spacings import noise_spacing
from gph_core.paths.speeds import SPEEDS, resolve
from gph_core.policies.extrapolation import Reuse


def unknown_model(num_steps):
    sigmas = [1 - n / num_steps for n in range(num_steps + 1)]
    return Conditions(None, {}, sigmas, Reuse())


@pytest.mark.parametrize(
    ("speed", "ratio"), [("Quality", 0.58), ("Balanced", 0.74), ("Fast", 0.82)]
)
def test_speeds_are_the_cache_ratios_of_the_paper(speed, ratio):
    choice = resolve(speed, unknown_model(50), bundled_paths())
    assert choice.schedule.cache_ratio == pytest.approx(ratio)


@pytest.mark.parametrize("speed", SPEEDS)
def test_every_step_count_is_resolved(speed):
    of_50 = SPEEDS[speed]
    for num_steps in range(1, 201):
        schedule = resolve(speed, unknown_model(num_steps), ()).schedule
        assert schedule.num_steps == num_steps
        assert schedule.num_full >= min(4, num_steps)
        if num_steps * of_50 >= 4 * 50:  # in whole numbers: at most half a step beside the ratio
            assert abs(50 * schedule.num_full - of_50 * num_steps) <= 25


def test_a_model_without_paths_gets_the_steps_by_noise_level():
    run = unknown_model(49)
    choice = resolve("Fast", run, bundled_paths())
    assert choice == Choice(noise_spacing(run.sigmas, 9, 0.5, True), SPACED, Reuse())


def test_an_unknown_speed_is_refused():
    with pytest.raises(ValueError, match="'Warp' is not a speed; choose one of Quality, Balanced"):
        resolve("Warp", unknown_model(50), ())
