"""``quality/semantic``: scores and the guard, on embeddings and changes made by hand."""

import math

import pytest
import torch

from gph_core.quality.semantic import scores
from gph_core.quality.semantic.guard import Guard, changes_in_words, with_changes

TURNED = [math.cos(math.radians(60)), math.sin(math.radians(60))]


@pytest.mark.parametrize(
    ("image", "text", "score"),
    [
        ([1.0, 0.0], [1.0, 0.0], 100.0),
        ([3.0, 0.0], [0.1, 0.0], 100.0),  # lengths do not count
        ([1.0, 0.0], TURNED, 50.0),
        ([1.0, 0.0], [0.0, 1.0], 0.0),
        ([1.0, 0.0], [-1.0, 0.0], 0.0),  # not -100
    ],
)
def test_the_clip_score_is_a_hundred_times_the_cosine_but_not_negative(image, text, score):
    found = scores.clip_score(torch.tensor([image]), torch.tensor([text]))
    assert found.shape == (1,)
    assert found.item() == pytest.approx(score, abs=1e-5)


def test_image_reward_is_standardized_as_published():
    # 0.16717 is the mean, and 1.20051 lies one deviation above it.
    found = scores.image_reward(torch.tensor([0.16717363, 1.20051313, -0.86616587]))
    assert found.tolist() == pytest.approx([0, 1, -1], abs=1e-6)


def test_a_change_is_negative_where_the_test_has_the_lower_score():
    reference, test = (
        {"clip_score": 31.0, "image_reward": 0.5},
        {"clip_score": 30.25, "image_reward": 0.75},
    )
    found = with_changes(test, reference)
    assert found == test | {"clip_change": -0.75, "reward_change": 0.25}
    assert with_changes({"clip_score": 1.0}, {"clip_score": 1.0}) == {
        "clip_score": 1.0,
        "clip_change": 0.0,
    }


def test_signs_of_changes_are_written():
    assert changes_in_words({"clip_change": 0.126, "reward_change": -0.02}) == (
        "Δ CLIP +0.13, Δ reward -0.020"
    )


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ([-1.0, 0.0], True),  # just the limit in the mean
        ([-1.0, -0.25], False),
        ([-2.0, 2.0], True),  # one example may fall further
        ([5.0, 5.0], True),
        ([math.nan, 5.0], False),
    ],
)
def test_a_guard_holds_while_the_mean_falls_by_no_more_than_its_limit(changes, holds):
    guard = Guard({"clip_change": 0.5})
    assert guard.holds([{"clip_change": change} for change in changes]) == holds


def test_a_guard_of_two_scores_needs_both():
    guard = Guard({"clip_change": 0.5, "reward_change": 0.1})
    assert str(guard) == "CLIP score falls by at most 0.5 and ImageReward falls by at most 0.1"
    assert guard.holds([{"clip_change": -0.5, "reward_change": -0.1}])
    assert not guard.holds([{"clip_change": 1.0, "reward_change": -0.2}])
    assert not guard.holds([{"clip_change": -1.0, "reward_change": 0.2}])


def test_without_limits_everything_is_allowed():
    assert Guard().holds([{"psnr": -5.0}])
    assert Guard().changes([{"psnr": -5.0}]) == {}
