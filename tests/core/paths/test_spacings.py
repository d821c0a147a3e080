from gph_core.paths.spacings import spacings
from gph_core.schedule import Schedule


def test_spacings_by_hand():
    # N = 10, K = 4: 9 (i/3)^p for i = 0 ... 3, rounded, and 10 i / 4 rounded down.
    assert spacings(10, 4) == [
        Schedule.parse(text) for text in (
            "0,3,6,9/10",  # p = 1
            "0,2,6,9/10",  # 1.2: 2.41, 5.53
            "0,2,5,9/10",  # 1.4: 1.93, 5.10; 1.7: 1.39, 4.52 gives 0,1,5,9
            "0,1,5,9/10",
            "0-1,4,9/10",  # 2: 1, 4
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
            "0-1,3,6,9/10",  # 1.2: 3.14, 5.92; 1.4: 2.72, 5.53
            "0-1,2,5,9/10",  # 1.7: 2.24, 5.02; 2: 1.89, 4.56
        )
    ]  # fmt: skip
