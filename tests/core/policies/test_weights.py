"""Bounds of weights, and that a fit keeps them."""

import pytest

from gph_core.policies import weights
from gph_core.policies.weights import OF_FEW_STEPS, OF_STEP


def test_weights_within_the_bounds_are_left_as_they_are():
    found = [3.0, -2.5, 0.4]
    assert weights.confined(found, [], 4, 8) == found


@pytest.mark.parametrize(
    "found",
    [
        [50.0, -49.0],  # 99 in absolute values
        [6.0],
        [-4.0],
        [1e300, -1e300],
        [20.0, -18.9],  # within those of a step, not of the mean of a path of one
    ],
)
def test_weights_beyond_them_come_as_near_to_reuse_as_needed(found):
    nearer = weights.confined(found, [], 1, 2)
    weights.check([(1, tuple(enumerate(nearer)))], 2)
    reuse = [1.0, 0.0][: len(found)]
    ways = [(new - r) / (old - r) for new, old, r in zip(nearer, found, reuse, strict=True)]
    assert 0 <= ways[0] < 1
    assert ways == pytest.approx([ways[0]] * len(ways), abs=1e-6)
    twice = [r + 2 * (new - r) for new, r in zip(nearer, reuse, strict=True)]
    own = weights.size(twice)
    assert not (OF_STEP.hold(own) and OF_FEW_STEPS.hold(own)) or nearer == reuse


def test_steps_that_are_each_within_their_bounds_keep_those_of_the_mean():
    # Each adds up to 2; in the mean of a path it may be 1.25 at most.
    before = []
    for step in range(1, 9):
        found = weights.confined([2.5, -0.5], before, 8, 11)
        before.append(tuple(enumerate(found)))
        if step <= 2:  # by hand: 2 + 2 + 6 of reuse = 10 = 1.25 · 8
            assert found == [2.5, -0.5]
    assert before[-1] == ((0, 1.0), (1, 0.0))
    weights.check(list(enumerate(before)), 11)
    with pytest.raises(
        ValueError, match=r"in the mean, add up to 2, .* a fit gives -0\.5 to 1\.25"
    ):
        weights.check([(n, ((0, 2.5), (1, -0.5))) for n in range(8)], 11)


def test_no_weights_are_within_the_bounds():
    weights.check([], 50)


@pytest.mark.parametrize("total", [0.0, -0.4])
def test_weights_that_do_not_carry_a_run_to_its_end_are_of_few_steps_alone(total):
    found = [(step, ((step - 1, total),)) for step in range(1, 6)]
    weights.check(found, 11)
    with pytest.raises(ValueError, match=r"in the mean, .* a fit gives 0\.05 to 1\.25"):
        weights.check(found, 12)
