"""What the demo compares."""

from demo.run import plan
from demo.scenes import is_held_out
from demo.subjects import CLIPS, VIDEOS
from demo.video.scenes import VOCABULARY


def test_each_speed_stands_beside_two_baselines_with_as_many_full_steps():
    (full,), *groups = plan(50)
    assert (full.name, full.schedule.num_full) == ("full", 50)
    assert [[row.schedule.num_full for row in group] for group in groups] == [
        [21, 21, 21],
        [13, 13, 13],
        [9, 9, 9],
    ]
    assert [group[0].name for group in groups] == [
        "Quality, fitted",
        "Balanced, fitted",
        "Fast, fitted",
    ]
    for _, uniform, plain in groups:
        assert uniform.speed == "Custom"
        assert (plain.speed, plain.schedule.num_cached) == (None, 0)
        assert uniform.is_control
        assert plain.is_control


def test_28_and_20_steps_have_fitted_paths_too():
    for steps, counts in ((28, [12, 7, 5]), (20, [8, 5, 4])):
        _, *groups = plan(steps)
        assert [group[0].name for group in groups] == [
            "Quality, fitted",
            "Balanced, fitted",
            "Fast, fitted",
        ]
        assert [group[0].schedule.num_full for group in groups] == counts


def test_step_counts_without_a_path_are_spaced_by_noise_level():
    _, *groups = plan(24)
    assert [group[0].name for group in groups] == [
        "Quality, spacing by noise level",
        "Balanced, spacing by noise level",
        "Fast, spacing by noise level",
    ]


def test_clips_are_of_captions_that_training_did_not_see_at_the_counts_of_images():
    (full,), *groups = plan(50, VIDEOS)
    assert full.schedule.num_steps == 50
    assert [group[0].schedule.num_full for group in groups] == [21, 13, 9]
    for caption in CLIPS.values():
        assert is_held_out(caption)
        assert VOCABULARY.ids(caption)
