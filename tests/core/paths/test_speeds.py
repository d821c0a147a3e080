"""Speeds and numbers of full steps."""

from dataclasses import replace

import pytest

from gph_core.paths.conditions import Conditions
from gph_core.paths.golden_path import SEARCHED
from gph_core.paths.library import bundled_paths
from gph_core.paths.speeds import SPEEDS, check_full, count_of, full_of, resolve, speed_of
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
        assert schedule.num_full >= min(3, num_steps)
        # In whole numbers: at most half a step beside the ratio.
        assert num_steps < 23 or abs(50 * schedule.num_full - of_50 * num_steps) <= 25


@pytest.mark.parametrize(
    ("num_steps", "full"),
    [(2, (2, 2, 2)), (3, (3, 3, 3)), (4, (3, 3, 3)), (5, (4, 4, 4)), (6, (5, 5, 4)),
     (8, (6, 5, 4)), (9, (7, 5, 4)), (12, (7, 5, 4)), (16, (7, 5, 4)), (17, (7, 5, 4)),
     (20, (8, 5, 4))],
)  # fmt: skip
def test_short_runs_keep_more_steps_full(num_steps, full):
    found = [resolve(speed, unknown_model(num_steps), ()) for speed in SPEEDS]
    assert tuple(choice.schedule.num_full for choice in found) == full


def test_a_part_of_a_run_keeps_its_part_of_the_full_steps():
    # Half of 12 steps without shift: half of 7 and 5, but four are full.
    noisy = Conditions(None, {}, [1 - n / 12 for n in range(7)], Reuse())
    assert noisy.whole_steps == 12
    assert [count_of(speed, noisy) for speed in SPEEDS] == [4, 4, 4]
    assert [full_of(speed, 12, 14) for speed in SPEEDS] == [6, 4, 4]  # 7 and 5 of 14
    # With shift 3, a level of 3/4 is the middle.
    clean = replace(noisy, sigmas=[0.75 * (1 - n / 6) for n in range(7)], halfway=0.75)
    assert clean.whole_steps == 12
    # Sigmas of a model whose noise exceeds 1, from the highest one: a whole run.
    exploding = replace(noisy, sigmas=[14.6, 4.0, 1.6, 0.0], halfway=1.6, sigma_max=14.6)
    assert exploding.whole_steps == 3


def test_an_unknown_speed_is_refused():
    with pytest.raises(ValueError, match="'Warp' is not a speed; choose one of Automatic, Quality"):
        resolve("Warp", unknown_model(50), ())


@pytest.mark.parametrize(
    ("num_steps", "same", "side"),
    [(20, "Quality", "fewer than"), (39, "Quality", "fewer than"), (40, "Balanced", "at least"),
     (50, "Balanced", "at least")],
)  # fmt: skip
def test_automatic_takes_a_speed_by_the_number_of_steps_and_says_so(num_steps, same, side):
    run = unknown_model(num_steps)
    choice = resolve("Automatic", run, ())
    note = f"Automatic is {same} here: the sampler takes {side} 40 steps"
    assert choice.note.splitlines()[0] == note
    assert choice._replace(note="") == resolve(same, run, ())._replace(note="")
    assert note not in resolve(same, run, ()).note


def test_a_speed_is_a_share_and_a_number_is_itself():
    assert full_of("Fast", 50) == 9  # 18 % of 50
    found = [count_of(speed, unknown_model(50)) for speed in (7, "Fast", "Threshold")]
    assert found == [7, 9, None]


@pytest.mark.parametrize(
    ("full", "options", "possible"),
    [(1, {}, "2 to 9"), (10, {}, "2 to 9"), (11, {"fewest": 1, "spare": 0}, "1 to 10")],
)
def test_numbers_out_of_range_are_errors(full, options, possible):
    with pytest.raises(ValueError, match=f"{full} full steps do not fit: of 10 steps {possible}"):
        check_full(full, 10, **options)


def test_numbers_in_range_are_taken():
    check_full(2, 10)
    check_full(9, 10)
    check_full(10, 10, fewest=1, spare=0)
    with pytest.raises(ValueError, match="of 2 steps none can be full"):
        check_full(2, 2)


def test_the_path_that_a_speed_takes_knows_its_speed():
    every = bundled_paths()
    found = {path.name: speed_of(path, every) for path in every}
    # The preferred ones of 13 of 50, with and without weights, and one that is not preferred.
    assert found["FLUX.1-dev, 13 of 50, PSNR, hill climbing"] == "Balanced"
    assert found["FLUX.1-dev, 13 of 50, BudCache"] == ""
    for more in ("", ", fitted, CFG 5", ", fitted, CFG 1"):
        assert found[f"Golden Path Demo Model, 13 of 50{more}"] == "Balanced"
    assert found["Golden Path Demo Model, 6 of 50, fitted, CFG 5"] == ""  # no speed has 6 of 50


def test_a_path_of_the_user_takes_the_place_of_a_bundled_one():
    every = bundled_paths()
    (theirs,) = (path for path in every if path.name == "Golden Path Demo Model, 13 of 50")
    mine = replace(theirs, name="mine", origin=SEARCHED)
    assert speed_of(mine, (mine, *every)) == "Balanced"
    assert speed_of(theirs, (mine, *every)) == ""
    assert speed_of(replace(mine, family=""), (mine, *every)) == ""
