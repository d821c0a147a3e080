import pytest

from gph_core.paths.choice import Choice
from gph_core.paths.custom import fit
from gph_core.policies.extrapolation import Reuse
from gph_core.policies.mean_velocity import MeanVelocity
from gph_core.schedule import Schedule

TEN = tuple(1 - n / 10 for n in range(11))  # noise levels of ten steps


@pytest.mark.parametrize(
    ("sigmas", "policy", "part", "steps"),
    [
        (TEN[:6], Reuse(), "0,2/5", "0 to 4"),  # head
        (TEN[:6], MeanVelocity(), "0-2/5", "0 to 4"),
        (TEN[:2], MeanVelocity(), "0/1", "0 to 0"),
        ((0.9995, *TEN[1:6]), Reuse(), "0,2/5", "0 to 4"),  # some samplers lower the first level
        (TEN[5:], Reuse(), "0,2/5", "5 to 9"),  # tail: step 7 is its step 2
        (TEN[5:], MeanVelocity(), "0-2/5", "5 to 9"),
        (TEN[7:], Reuse(), "0/3", "7 to 9"),
        (TEN[8:], MeanVelocity(), "0-1/2", "8 to 9"),
    ],
)
def test_a_run_of_fewer_steps_takes_its_part_of_a_schedule(sigmas, policy, part, steps):
    choice = fit(Schedule.parse("0,2,7/10"), policy, sigmas, 1.0)
    assert choice.schedule == Schedule.parse(part)
    assert choice.origin == f"steps {steps} of your schedule 0,2,7/10"


@pytest.mark.parametrize(
    "sigmas",
    [
        TEN,
        (*TEN[1:6], 0.45, 0.4, 0.3, 0.2, 0.1, 0.0),  # image to image in ten steps
        TEN[::2],  # from noise to the end in fewer steps
        (1.0, 0.95, *TEN[1:]),  # longer than the schedule
        (1.0, 0.95, *TEN[1:10]),
    ],
)
def test_any_other_run_keeps_the_whole_schedule(sigmas):
    schedule = Schedule.parse("0,2,7/10")
    assert fit(schedule, Reuse(), sigmas, 1.0) == Choice(schedule, "your schedule", Reuse())


MIDDLE = "runs 4 steps from the middle of a schedule of 10, and which ones cannot be told"


def test_a_part_in_the_middle_is_where_a_grid_has_its_noise_levels():
    schedule, squares = Schedule.parse("0,2,7/10"), tuple(level**2 for level in TEN)
    grids = [TEN[:-1], squares, TEN]
    fits = {4: fit(schedule, Reuse(), TEN[4:9], 1.0, True, grids)}  # steps 4 to 7: 7 is its 3
    fits[1] = fit(schedule, Reuse(), squares[1:6], 1.0, True, grids)  # steps 1 to 4: 2 is its 1
    # It adds noise of its own: it goes on all the same.
    fits[5] = fit(schedule, Reuse(), TEN[5:9], 1.0, False, grids)
    assert {first: str(choice.schedule) for first, choice in fits.items()} == {
        4: "0,3/4", 1: "0-1/4", 5: "0,2/3",
    }  # fmt: skip
    assert fits[4].origin == "steps 4 to 7 of your schedule 0,2,7/10"


@pytest.mark.parametrize("grids", [[], [TEN[:-1], tuple(level**2 for level in TEN)]])
def test_a_part_in_the_middle_of_an_unknown_grid_is_refused(grids):
    with pytest.raises(ValueError, match=MIDDLE):
        fit(Schedule.parse("0,2,7/10"), Reuse(), TEN[4:9], 1.0, True, grids)


def test_latents_that_get_no_noise_are_continued_whatever_their_level():
    # With 1,000 steps and a large shift the second level is hardly below the first.
    schedule = Schedule.parse("0,2,7/10")
    sigmas = (0.9999, *TEN[6:])
    assert fit(schedule, Reuse(), sigmas, 1.0, continues=True).schedule == Schedule.parse("0,2/5")


def test_the_first_part_may_begin_below_pure_noise():
    # The scheduler ddim_uniform does.
    schedule = Schedule.parse("0,2,7/10")
    assert fit(schedule, Reuse(), (0.98, *TEN[1:6]), 1.0).schedule == Schedule.parse("0,2/5")


def test_pure_noise_is_what_the_model_calls_so():
    schedule = Schedule.parse("0,2,7/10")
    sigmas = [80 * level for level in TEN]
    assert fit(schedule, Reuse(), sigmas[:6], 80.0).schedule == Schedule.parse("0,2/5")
    assert fit(schedule, Reuse(), sigmas[5:], 80.0).schedule == Schedule.parse("0,2/5")


def test_spans_of_single_steps_move_with_the_part():
    policy = MeanVelocity(4, ((8, 1), (9, 2)))
    choice = fit(Schedule.parse("0,2,7/10"), policy, TEN[5:], 1.0)
    assert choice.policy == MeanVelocity(4, ((3, 1), (4, 2)))
