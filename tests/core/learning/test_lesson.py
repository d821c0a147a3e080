"""Choice of a spacing within a budget, by hand-made scores."""

import pytest
import torch

from gph_core.learning.lesson import Budget, Learned, best, budget_of, learn
from gph_core.learning.spacings import to_learn
from gph_core.policies.fitted import Fitted
from gph_core.schedule import Schedule

from ...support.few_runs import SCHEDULE, runs_of


@pytest.mark.parametrize(
    ("steps", "full", "images", "budget"),
    [
        # Ten runs of eight: three trials, the default and the fit, each on two.
        (20, 8, 2, Budget(2, 2, 3, 80)),
        # Two trials and the default on two, the fit on four.
        (20, 8, 4, Budget(4, 2, 2, 80)),
        # The fit on eight, the default on two: nothing is left for trials.
        (20, 8, 8, Budget(8, 2, 0, 80)),
        # Sixteen runs of five: four trials are enough.
        (20, 5, 2, Budget(2, 2, 4, 60)),
        # Fifteen runs: all four spacings on two, the default on two, the fit on four.
        (50, 13, 4, Budget(4, 2, 4, 14 * 13)),
    ],
)
def test_the_budget_is_four_full_runs(steps, full, images, budget):
    assert budget_of(steps, full, images) == budget


def test_no_budget_is_above_four_full_runs_and_each_compares_and_fits():
    for steps in range(5, 60):
        for full in range(2, steps):
            for images in (1, 2, 4, 8):
                budget = budget_of(steps, full, images)
                assert budget.evaluations <= 4 * steps
                assert 1 <= budget.compared <= budget.fitted <= images


def test_learning_asks_the_model_no_more_often_than_its_budget_says():
    runs, full, asked = runs_of(2)
    budget = budget_of(6, 3, 2)

    def default(count):
        asked.append((0, 3 * count))  # its full steps
        return [full[run][-1] for run in range(count)]

    learn([SCHEDULE], budget, runs, lambda run, end: 0.0, default)
    spent = sum(count for _, count in asked)
    assert spent <= budget.evaluations <= 4 * 6
    others = [Schedule.parse(text) for text in ("0,2,4/6", "0,2,5/6", "0,1,4/6")]
    asked.clear()
    learn([SCHEDULE, *others], budget, runs, lambda run, end: 0.0, default)
    assert sum(count for _, count in asked) == budget.evaluations


def test_another_spacing_than_the_preferred_one_has_to_be_three_decibels_better():
    one, two, three = (Schedule.parse(text) for text in ("0,1/4", "0,2/4", "0,3/4"))

    def taken(second, third):
        return best([([30.0, 34.0], one), (second, two), (third, three)])[1]

    assert taken([35.0, 35.0], [34.0, 34.0]) == one
    assert taken([35.1, 35.1], [36.0, 36.0]) == three
    assert best([([30.0], one)])[1] == one


def test_the_default_wins_where_it_is_three_decibels_better():
    def learned(scores, default):
        return Learned(SCHEDULE, Fitted(), scores, default)

    assert learned([30.0, 32.0], [33.5, 34.3]).is_better
    assert not learned([30.0, 32.0], [33.5, 34.6]).is_better


def test_more_than_40_decibels_make_up_for_no_image():
    one, two = Schedule.parse("0,1/4"), Schedule.parse("0,2/4")
    # 36 dB against 40 and 20, as far as one sees it, though the mean is 44.
    assert best([([36.0, 36.0], one), ([68.0, 20.0], two)])[1] == one
    # 35 dB against 38.5 in the same way, in the mean 45 against 42.
    assert best([([30.0, 60.0], one), ([37.0, 47.0], two)])[1] == two

    def learned(scores, default):
        return Learned(SCHEDULE, Fitted(), scores, default)

    assert learned([41.0, 42.0], [60.0, 70.0]).is_better
    assert not learned([30.0, 60.0], [37.0, 47.0]).is_better


def test_spacings_begin_with_the_first_step_and_end_with_the_last_but_for_the_default():
    default = Schedule.parse("0-2,5,9,12,15,18/20")
    found = list(map(str, to_learn(8, default, is_damped=True)))
    assert found[0] == "0,2,4,6,9,12,16,19/20"  # round(19 (i / 7)^1.3)
    assert found[2] == str(default)
    found.remove(str(default))
    assert all(text.startswith("0") and text.endswith("19/20") for text in found)


def test_in_short_runs_with_many_full_steps_the_steep_spacing_comes_first():
    default = Schedule.parse("0-2,4,6,9,11/12")
    # round(11 (i / 6)^1.5); at 8 of 20, as above, round(19 (i / 7)^1.3).
    assert str(to_learn(7, default, is_damped=True)[0]) == "0-2,4,6,8,11/12"
    # Of 25 steps 44 % are full at Quality: round(24 (i / 10)^1.3).
    longer = to_learn(11, Schedule.parse("0-9,24/25"), is_damped=True)[0]
    assert str(longer) == "0-1,3,5,7,10,12,15,18,21,24/25"


def test_with_few_full_steps_the_spacing_of_damped_velocity_comes_first():
    default = Schedule.parse("0,4,8,13,18/20")
    assert to_learn(5, default, is_damped=True)[0] == default
    # round(19 (i / 4)^1.15), as residuals and velocities want other steps.
    assert str(to_learn(5, default, is_damped=False)[0]) == "0,4,9,14,19/20"


def test_spacings_that_coincide_are_tried_once():
    found = to_learn(4, Schedule.parse("0-3/5"), is_damped=False)
    assert len(found) == len(set(found))
    assert all(spacing.num_full == 4 for spacing in found)


def test_spacings_of_another_number_of_full_steps_are_left_out():
    assert Schedule.parse("0-2/5") not in to_learn(4, Schedule.parse("0-2/5"), is_damped=True)
    # Of the rules the steeper ones would take step 0 twice: round(9 (1 / 8)^1.5) = 0.
    found = to_learn(9, Schedule.parse("0-7,9/10"), is_damped=True)
    assert found == [Schedule.parse("0-7,9/10"), *found[1:]]
    assert all(spacing.num_full == 9 for spacing in found)


@pytest.mark.parametrize("images", [1, 2, 3])
def test_weights_come_from_all_images_and_the_figure_from_leaving_one_out(images):
    runs, full, _ = runs_of(images)
    budget = budget_of(6, 3, images)

    def score(run, end):
        return -float((end - full[run][-1]).square().mean())

    found = learn([SCHEDULE], budget, runs, score, lambda count: [torch.zeros(1, 2, 20)] * count)
    assert found.policy.schedule == str(SCHEDULE)
    assert [step for step, _ in found.policy.weights] == [2, 4, 5]
    assert found.is_better  # than an empty picture
