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
