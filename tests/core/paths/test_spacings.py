"""Spacings: by noise level against all schedules, and those where searches begin by hand."""

import itertools

import numpy as np
import pytest

from gph_core.noise import without_shift
from gph_core.paths.spacings import LAST, SOFTNESS, damped_spacing, noise_spacing, spacings
from gph_core.schedule import Schedule


def test_spacings_by_hand():
    # N = 10, K = 4: 9 (i/3)^p for i = 0 ... 3, rounded, and 10 i / 4 rounded down.
    assert spacings(10, 4) == [
        Schedule.parse(text) for text in (
            "0,3,6,9/10",  # p = 1; 1.15: 2.54, 5.65
            "0,2,5,9/10",  # 1.3: 2.16, 5.31; 1.5: 1.73, 4.90
            "0-1,4,9/10",  # 1.8: 1.25, 4.34
            "0,2,5,7/10",
        )
    ]  # fmt: skip


def test_only_spacings_with_as_many_steps_as_wanted():
    assert all(schedule.num_full == 8 for schedule in spacings(9, 8))


def test_behind_required_first_steps_the_same_rule_spaces_the_rest():
    # N = 10, K = 5; 0, 1 and 9 are full: 1 + 8 (i/3)^p for i = 0 ... 3, rounded.
    assert spacings(10, 5, (0, 1, 9)) == [
        Schedule.parse(text) for text in (
            "0-1,4,6,9/10",  # p = 1: 3.67, 6.33
            "0-1,3,6,9/10",  # 1.15: 3.26, 6.02; 1.3: 2.92, 5.72
            "0-1,3,5,9/10",  # 1.5: 2.54, 5.35
            "0-2,5,9/10",  # 1.8: 2.11, 4.86
        )
    ]  # fmt: skip


def linear(steps):
    return [1 - n / steps for n in range(steps + 1)]


def shifted(levels, shift):
    return [shift * level / (1 + (shift - 1) * level) for level in levels]


def cost(schedule, levels, softness):
    """The sum over cached steps, from the rule's own words."""
    at_begin, at_end = softness

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
@pytest.mark.parametrize("num_full", [1, 4, 8])
def test_no_other_schedule_costs_less(levels, num_full, guided):
    steps = len(levels) - 1
    every = [
        Schedule((0, *others), steps)
        for others in itertools.combinations(range(1, steps), num_full - 1)
    ]
    soft = 0.8 / (1 + 1.25 * 2.5)  # at both ends, with CFG 3.5; without guidance 0.8
    for found, softness in (
        (noise_spacing(levels, num_full, 0.5, guided), SOFTNESS[guided]),
        (
            damped_spacing(levels, num_full, 0.5, 3.5 if guided else 1.0),
            2 * [soft if guided else 0.8],
        ),
    ):
        assert found.num_full == num_full
        least = min(cost(schedule, levels, softness) for schedule in every)
        assert cost(found, levels, softness) == pytest.approx(least)


@pytest.mark.parametrize("guided", [True, False])
def test_a_shift_of_the_model_does_not_matter(guided):
    for shift in (2, 7):
        found = noise_spacing(shifted(linear(20), shift), 6, shift / (1 + shift), guided)
        assert found == noise_spacing(linear(20), 6, 0.5, guided)
        guidance = 3.5 if guided else 1.0
        damped = damped_spacing(shifted(linear(20), shift), 6, shift / (1 + shift), guidance)
        assert damped == damped_spacing(linear(20), 6, 0.5, guidance)


def test_without_the_shift_halfway_is_one_half():
    assert without_shift(shifted(linear(4), 3), 0.75) == pytest.approx(linear(4))
    # Sigmas that exceed 1 are ratios of noise to signal, which is 1.5 halfway.
    assert without_shift([13.5, 1.5, 0.5, 0], 1.5) == pytest.approx([0.9, 0.5, 0.25, 0])
    assert without_shift([1.0, 0.5, 0], 1.5) == pytest.approx([0.4, 0.25, 0])  # image to image


def test_guidance_draws_full_steps_to_the_begin():
    def full(guided):
        return np.array(noise_spacing(linear(50), 13, 0.5, guided).full_steps)

    assert (full(True)[1:6] < full(False)[1:6]).all()


def test_the_policy_gets_its_anchors_before_the_first_cached_step():
    assert noise_spacing(linear(20), 5, 0.5, False, min_anchors=3).full_steps[:3] == (0, 1, 2)
    assert noise_spacing(linear(20), 2, 0.5, False, min_anchors=3).full_steps == (0, 1)
    assert noise_spacing(linear(5), 5, 0.5, False) == Schedule.all_full(5)
