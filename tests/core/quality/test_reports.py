"""Reports of shootouts become tables of quality."""

import numpy as np
import pytest

from gph_core.quality.objective import OBJECTIVES, PSNR
from gph_core.quality.reports import ADAPTIVE, PLAIN, changes, crossing, distinct, tables
from gph_core.schedule import Schedule

from ...support.made_shootouts import EARLY, EVEN, HERMITE, REUSE, TAYLOR, report, row

UNIFORM = row("uniform", [20.0, 21.0, 22.0])
MINE = row("mine", [23.0, 20.0, 22.5], EARLY)


def only(reports, objective=PSNR):
    (found,) = tables(reports, objective)
    return found


def test_a_table_has_the_values_of_all_but_the_full_run():
    adaptive = row("SeaCache", [19.0, 20.0, 21.0], kind=ADAPTIVE)
    plain = row("plain steps", [1.0, 2.0, 3.0], "0-3/4", None, PLAIN)
    found = only([report([UNIFORM, MINE, adaptive, plain])])
    np.testing.assert_array_equal(
        found.quality,
        [[20.0, 21.0, 22.0], [23.0, 20.0, 22.5], [19.0, 20.0, 21.0], [1.0, 2.0, 3.0]],
    )
    assert found.prompts == ("a", "b", "c")
    assert [candidate.label for candidate in found.candidates] == [
        "uniform", "mine", "SeaCache", "plain steps",
    ]  # fmt: skip
    assert [found.rows(kind) for kind in ("fixed", "adaptive", "plain")] == [[0, 1], [2], [3]]
    assert found.candidates[1].schedule == Schedule((0, 1, 2, 9), 10)


def test_what_is_better_is_higher_and_equal_images_are_finite():
    rows = [row("uniform", ["identical", 21.0, 22.0], lpips=[0.1, 0.2, 0.3])]
    np.testing.assert_array_equal(only([report(rows)]).quality, [[100.0, 21.0, 22.0]])
    lower = only([report(rows)], OBJECTIVES["LPIPS"])
    np.testing.assert_array_equal(lower.quality, [[-0.1, -0.2, -0.3]])


def test_seeds_of_a_prompt_are_averaged():
    others = [row("uniform", [22.0, 22.0, 23.0])]
    found = only([report([UNIFORM]), report(others, seed=1)])
    np.testing.assert_array_equal(found.quality, [[21.0, 21.5, 22.5]])


def test_policies_are_rows_and_prompts_are_columns():
    hermite = row("uniform", [30.0, 31.0, 32.0], policy=HERMITE)
    found = only([report([UNIFORM]), report([hermite])])
    assert [c.label for c in found.candidates] == [f"uniform, {REUSE}", f"uniform, {HERMITE}"]
    more = only([report([UNIFORM]), report([UNIFORM], prompts=("d", "e", "f"))])
    assert more.prompts == ("a", "b", "c", "d", "e", "f")
    assert more.num_incomplete == 0


def test_examples_that_not_all_have_are_left_out_and_counted():
    found = only([report([UNIFORM, MINE]), report([UNIFORM], prompts=("c", "d", "e"))])
    assert found.prompts == ("a", "b", "c")
    assert found.num_incomplete == 2
    with pytest.raises(ValueError, match="4 full steps have no example on which all 2 ways"):
        tables([report([UNIFORM]), report([MINE], prompts=("d", "e", "f"))], PSNR)


def test_equal_candidates_count_once():
    again = row("TaylorSeer", [20.0, 21.0, 22.0])  # the same schedule and policy
    assert [candidate.name for candidate in only([report([UNIFORM, again])]).candidates] == [
        "uniform"
    ]


def test_who_ran_with_another_number_of_full_steps_is_named_and_left_out():
    moved = row("golden path", [25.0, 25.0, 25.0], "0-3,9/10", comparable=False)
    found = only([report([UNIFORM, moved])])
    assert len(found.candidates) == 1
    assert found.other_counts == ("golden path",)


def test_numbers_of_full_steps_are_tables_of_their_own_and_give_changes():
    # Medians 21 and 22.5 with 6 cached steps, 18 and 17.5 with 8.
    fewer = [
        row("uniform", [18.0, 17.0, 19.0], "0,9/10"), row("mine", [17.5, 17.0, 18.0], "0,5/10"),
    ]  # fmt: skip
    found = tables([report(fewer, full_steps=2), report([UNIFORM, MINE])], PSNR)
    assert [table.num_full for table in found] == [4, 2]
    assert changes(found) == [3 / 2, 5 / 2]
    assert changes(found[:1]) == []


def test_changes_are_of_the_prompts_that_all_tables_have():
    fewer = report([row("uniform", [20.0, 9.0, 9.0], "0,9/10")], 2, prompts=("c", "d", "e"))
    assert changes(tables([fewer, report([UNIFORM])], PSNR)) == [1.0]


def test_schedules_under_the_same_policies_cross():
    taylor = row("TaylorSeer", [10.0, 11.0, 12.0], policy=TAYLOR)  # spaced as uniform
    other = [
        row("uniform", [30.0, 31.0, 32.0], policy=HERMITE),
        row("mine", [33.0, 33.0, 36.0], EARLY, HERMITE),
    ]
    found = crossing(only([report([UNIFORM, MINE, taylor]), report(other)]))
    assert found is not None
    schedules, policies, means = found
    assert [str(schedule) for schedule in schedules] == [EVEN, EARLY]
    assert policies == [REUSE, HERMITE]
    np.testing.assert_allclose(means, [[21.0, 31.0], [65.5 / 3, 34.0]])
    assert crossing(only([report([UNIFORM, MINE, taylor])])) is None


def test_shootouts_of_other_conditions_are_refused_by_the_first_that_differs():
    with pytest.raises(ValueError, match="made with the model abc, another one has xyz"):
        tables([report([UNIFORM]), report([UNIFORM], model="xyz")], PSNR)
    tables([report([UNIFORM]), report([UNIFORM], device="that one")], PSNR)  # costs seconds alone


def test_a_metric_that_is_missing_is_named():
    with pytest.raises(ValueError, match="no LPIPS of uniform; choose another metric"):
        tables([report([UNIFORM])], OBJECTIVES["LPIPS"])


def test_labels_that_occur_again_are_numbered():
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]
