import pytest

from gph_core.paths.conditions import Choice
from gph_core.paths.custom import fit
from gph_core.policies.extrapolation import Reuse
from gph_core.policies.fitted import Fitted
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
        (1.0, 0.95, *TEN[1:]),  # longer than the schedule
        (1.0, 0.95, *TEN[1:10]),
    ],
)
def test_any_other_run_keeps_the_whole_schedule(sigmas):
    schedule = Schedule.parse("0,2,7/10")
    assert fit(schedule, Reuse(), sigmas, 1.0) == Choice(schedule, "your schedule", Reuse())


def grids(*levels):
    """The grids of schedulers that have these noise levels, by their number of steps."""
    return lambda count: [grid for grid in levels if len(grid) == count + 1]


# TEN with a shift of 4: 4 t / (1 + 3 t).
LATE = (1, 36 / 37, 16 / 17, 28 / 31, 6 / 7, 4 / 5, 8 / 11, 12 / 19, 1 / 2, 4 / 13, 0.0)


@pytest.mark.parametrize("continues", [True, False])
@pytest.mark.parametrize(
    ("begin", "end", "part"),
    [
        (1, 10, "0-1,6/9"),  # begins at 97 % of pure noise; steps 2 and 7 are its 1 and 6
        (2, 10, "0,5/8"),
        (3, 10, "0,4/7"),
        (1, 3, "0-1/2"),
        (2, 8, "0,5/6"),
        (4, 9, "0,3/5"),
        (0, 4, "0,2/4"),
    ],
)
def test_a_part_is_where_a_grid_has_its_noise_levels(begin, end, part, continues):
    known = grids(TEN, LATE)
    choice = fit(Schedule.parse("0,2,7/10"), Reuse(), LATE[begin : end + 1], 1.0, continues, known)
    steps = f"steps {begin} to {end - 1} of your schedule 0,2,7/10"
    assert choice == Choice(Schedule.parse(part), steps, Reuse())


@pytest.mark.parametrize("continues", [True, False])
@pytest.mark.parametrize(("begin", "end"), [(0, 4), (0, 9), (1, 6), (3, 9), (0, 1)])
def test_a_part_that_is_forced_to_end_clean_keeps_its_place(begin, end, continues):
    sigmas = (*LATE[begin:end], 0.0)
    choice = fit(Schedule.parse("0,2,7/10"), Reuse(), sigmas, 1.0, continues, grids(LATE))
    assert choice.origin == f"steps {begin} to {end - 1} of your schedule 0,2,7/10"
    assert choice.note == ""


def test_of_levels_that_are_almost_equal_the_nearest_are_taken():
    # The second level is within 0.01 % of the first and of the third.
    close = (1.0, 0.99995, 0.9999, *TEN[3:])
    choice = fit(Schedule.parse("0,2,7/10"), Reuse(), close[1:3], 1.0, True, grids(close))
    assert choice.origin.startswith("steps 1 to 1 of")


def test_grids_are_read_only_for_a_run_of_fewer_steps():
    def never(count):
        raise AssertionError(count)

    for sigmas in (TEN, LATE, (*TEN[:3], 0.75, *TEN[3:])):
        fit(Schedule.parse("0,2,7/10"), Reuse(), sigmas, 1.0, True, never)


@pytest.mark.parametrize("continues", [True, False])
def test_all_steps_of_another_count_are_no_part(continues):
    schedule, half = Schedule.parse("0,2,7/10"), TEN[::2]
    choice = fit(schedule, Reuse(), half, 1.0, continues, grids(LATE, half))
    assert choice == Choice(schedule, "your schedule", Reuse())  # which the run refuses


def test_weights_bring_the_noise_levels_that_they_were_fitted_to():
    weights = tuple((step, ((step - 1, 1.0),)) for step in (1, 3, 5, 7, 9))
    policy = Fitted("0,2,4,6,8/10", weights, {"sigmas": [round(level, 6) for level in LATE]})
    choice = fit(Schedule.parse("0,2,4,6,8/10"), policy, LATE[2:], 1.0, False, grids(TEN))
    assert choice.origin == "steps 2 to 9 of your schedule 0,2,4,6,8/10"
    assert choice.schedule == Schedule.parse("0,2,4,6/8")
    assert choice.note == ""


# --- where it cannot be told ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sigmas", "continues", "which"),
    [(TEN[:5], False, "first"), (TEN[6:], False, "last"), (TEN[6:], True, "last")],
)
def test_a_part_of_unknown_levels_is_taken_by_its_ends_with_a_note(sigmas, continues, which):
    choice = fit(Schedule.parse("0,2,7/10"), Reuse(), sigmas, 1.0, continues, grids(LATE))
    assert choice.schedule == Schedule.parse("0,2/4" if which == "first" else "0-1/4")
    count = "the run counts as the {} 4 of them"
    levels = f"its noise levels ({sigmas[0]:g} to {sigmas[-1]:g}) among those of 10 steps"
    assert choice.note == f"no scheduler of ComfyUI has {levels}, so {count.format(which)}"


def refusal(sigmas, *known, continues=False, schedule="0,2,7/10"):
    with pytest.raises(ValueError, match="sampler runs") as caught:
        fit(Schedule.parse(schedule), Reuse(), sigmas, 1.0, continues, grids(*known))
    return str(caught.value)


@pytest.mark.parametrize("known", [[], [TEN[:-1], LATE]])
@pytest.mark.parametrize("continues", [True, False])
def test_a_part_in_the_middle_of_an_unknown_grid_is_refused(known, continues):
    assert refusal(TEN[4:9], *known, continues=continues) == (
        "the sampler runs 4 steps from the middle of a schedule of 10, and which ones cannot be "
        "told: no scheduler of ComfyUI has its noise levels (0.6 to 0.2) among those of 10 steps; "
        "set the schedule to the step count of all samplers together, or give this sampler a "
        "schedule of 4 steps of its own"
    )


def test_a_run_from_noise_to_the_end_of_unknown_levels_is_told_what_to_enter():
    said = refusal((0.98, 0.9, 0.5, 0.2, 0.0), LATE)
    assert said.startswith("the schedule covers 10 steps but the sampler runs 4, and no scheduler")
    # Steps 0 to 3 of 0,2,7/10, and steps 6 to 9, of which 7 is its step 1.
    assert said.endswith("own: 0,2/4 for the first 4 steps, 0-1/4 for the last")


def test_a_whole_run_that_a_part_may_be_as_well_is_told_what_to_enter():
    # As the schedulers normal and sgm_uniform are related.
    said = refusal((*TEN[:9], 0.0), TEN, (*TEN[:9], 0.0))
    assert said == (
        "the schedule covers 10 steps but the sampler runs 9, and its noise levels (1 to 0) are "
        "those of a whole run of 9 steps as well as of steps 0 to 8 of the schedule; set the "
        "sampler to 10 steps, or enter the part as a schedule of its own: 0,2,7/9"
    )


def test_levels_in_two_places_are_told_what_to_enter():
    sigmas = TEN[1:4]
    other = (*sigmas, 0.65, 0.55, 0.45, 0.35, 0.25, 0.15, 0.05, 0.0)
    said = refusal(sigmas, TEN, other)
    assert said.endswith("its own: 0/2 for steps 0 to 1, 0-1/2 for steps 1 to 2")
    # Both are the same where they keep the same steps full.
    same = fit(Schedule.parse("0-9/10"), Reuse(), sigmas, 1.0, True, grids(TEN, other))
    assert same.schedule == Schedule.parse("0-1/2")


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
