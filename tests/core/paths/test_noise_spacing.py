"""Full steps by noise level."""

import itertools

import numpy as np
import pytest

from gph_core.paths.spacings import LAST, SOFTNESS, noise_spacing, without_shift
from gph_core.schedule import Schedule


def linear(steps):
    return [1 - n / steps for n in range(steps + 1)]


def shifted(levels, shift):
    return [shift * level / (1 + (shift - 1) * level) for level in levels]


def cost(schedule, levels, guided):
    """The sum over cached steps, from the rule's own words."""
    at_begin, at_end = SOFTNESS[guided]

    def change(level):
        return 1 / (levels[0] - level + at_begin) - 1 / (level + at_end)

    total = 0.0
    for step in schedule.cached_steps:
        before = max(full for full in schedule.full_steps if full < step)
        share = levels[step] - levels[step + 1]
        weight = LAST if before == schedule.full_steps[-1] else 1
        total += weight * share * (change(levels[before]) - change(levels[step]))
    return total


@pytest.mark.parametrize("guided", [True, False])
@pytest.mark.parametrize("levels", [linear(9), [0.6 * n for n in linear(10)], linear(12)[:9]])
@pytest.mark.parametrize("num_full", [1, 2, 4, 8])
def test_no_other_schedule_costs_less(levels, num_full, guided):
    steps = len(levels) - 1
    every = (
        Schedule((0, *others), steps)
        for others in itertools.combinations(range(1, steps), num_full - 1)
    )
    least = min(cost(schedule, levels, guided) for schedule in every)
    found = noise_spacing(levels, num_full, 0.5, guided)
    assert found.num_full == num_full
    assert cost(found, levels, guided) == pytest.approx(least)


def test_of_four_steps_it_is_what_one_computes_by_hand():
    # Levels 1, .75, .5, .25, 0; softness .8 and .3. With x = 1 / (1.8 - u) - 1 / (u + .3):
    # x = .4808, 0, -.4808, -1.1730 at steps 0 to 3. Steps are .25 long, the tail counts twice.
    # 0-1: 2 (.4808 + 1.1730); 0, 2: .4808 + 2 (1.1730 - .4808); 0, 3: .4808 + .9615; times .25.
    assert noise_spacing(linear(4), 2, 0.5, guided=False) == Schedule((0, 3), 4)


@pytest.mark.parametrize("guided", [True, False])
def test_a_shift_of_the_model_does_not_matter(guided):
    for shift in (2, 7):
        found = noise_spacing(shifted(linear(20), shift), 6, shift / (1 + shift), guided)
        assert found == noise_spacing(linear(20), 6, 0.5, guided)


def test_without_the_shift_halfway_is_one_half():
    assert without_shift(shifted(linear(4), 3), 0.75) == pytest.approx(linear(4))
    # Sigmas that exceed 1 are ratios of noise to signal, which is 1.5 halfway.
    assert without_shift([13.5, 1.5, 0.5, 0], 1.5) == pytest.approx([0.9, 0.5, 0.25, 0])


def test_image_to_image_of_a_model_whose_noise_exceeds_one():
    assert without_shift([1.0, 0.5, 0], 1.5) == pytest.approx([0.4, 0.25, 0])


def test_guidance_draws_full_steps_to_the_begin():
    def full(guided):
        return np.array(noise_spacing(linear(50), 13, 0.5, guided).full_steps)

    assert (full(True)[1:6] < full(False)[1:6]).all()


def test_where_the_last_step_is_long_it_is_full_and_where_it_is_nothing_it_is_not():
    assert noise_spacing(linear(20), 8, 0.5, True).full_steps[-1] == 19
    assert noise_spacing([*linear(20)[:-1], 0.001, 0.0], 8, 0.5, True).full_steps[-1] < 20


def test_the_policy_gets_its_anchors_before_the_first_cached_step():
    assert noise_spacing(linear(20), 5, 0.5, False, min_anchors=3).full_steps[:3] == (0, 1, 2)
    assert noise_spacing(linear(20), 2, 0.5, False, min_anchors=3).full_steps == (0, 1)
    assert noise_spacing(linear(5), 5, 0.5, False) == Schedule.all_full(5)
