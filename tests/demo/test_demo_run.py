"""What the demo compares."""

from demo.run import plan


def test_each_speed_stands_beside_two_baselines_with_as_many_full_steps():
    (full,), *groups = plan(50)
    assert (full.name, full.schedule.num_full) == ("full", 50)
    assert [[row.schedule.num_full for row in group] for group in groups] == [
        [21, 21, 21],
        [13, 13, 13],
        [9, 9, 9],
    ]
    assert [group[0].name for group in groups] == [
        "Quality, searched here",
        "Balanced, searched here",
        "Fast, searched here",
    ]
    for _, uniform, plain in groups:
        assert uniform.speed == "Custom"
        assert (plain.speed, plain.schedule.num_cached) == (None, 0)
        assert uniform.is_control
        assert plain.is_control


def test_other_step_counts_take_the_paths_of_50_moved():
    _, *groups = plan(20)
    assert [group[0].name for group in groups] == [
        "Quality, retargeted, not measured",
        "Balanced, retargeted, not measured",
        "Fast, retargeted, not measured",
    ]
