"""Bounds of weights, and that a fit keeps them."""

import numpy as np
import pytest

from gph_core.policies import weights
from gph_core.policies.weights import OF_FEW_STEPS, OF_STEP, SECOND, Term


def alike(*values):
    """Weights ``[k, 1]`` of the newest full steps, the same for all channels."""
    return np.array(values)[:, None]


def terms(found):
    """Weights ``[k, C]`` as terms of some full steps."""
    return tuple(Term(step, tuple(row)) for step, row in enumerate(found.tolist()))


@pytest.mark.parametrize("found", [[[3.0], [-2.5], [0.4]], [[3.0, 1.0], [-2.5, 0.0], [0.4, -0.4]]])
def test_weights_within_the_bounds_are_left_as_they_are(found):
    assert weights.confined(np.array(found), [], 4, 8).tolist() == found


@pytest.mark.parametrize(
    "found",
    [
        [[50.0], [-49.0]],  # 99 in absolute values
        [[6.0]],
        [[-4.0]],
        [[1e300], [-1e300]],
        [[20.0], [-18.9]],  # within those of a step, not of the mean of a path of one
        [[1.0, 50.0], [0.0, -49.0]],  # one channel of two
    ],
)
def test_weights_beyond_them_come_as_near_to_reuse_as_needed(found):
    found = np.array(found)
    nearer = weights.confined(found, [], 1, 2)
    weights.check([(1, terms(nearer))], 2)
    reuse = np.zeros_like(found)
    reuse[0] = 1.0
    is_moved = found != reuse
    ways = ((nearer - reuse)[is_moved] / (found - reuse)[is_moved]).tolist()
    assert 0 <= ways[0] < 1
    assert ways == pytest.approx([ways[0]] * len(ways), abs=1e-6)
    assert np.array_equal(nearer[~is_moved], reuse[~is_moved])
    own = weights.size(reuse + 2 * (nearer - reuse))
    is_within = OF_STEP.hold(own) and OF_FEW_STEPS.hold(own.mean)
    assert not is_within or np.array_equal(nearer, reuse)


def test_one_channel_beyond_the_bounds_of_a_step_moves_all_channels():
    # By hand, halved twice: 99 and 2 in absolute values, then 50 and 1.5, then 25.5 and 1.25. Of a
    # step each may have 64; of a path of one step their mean may be 16.
    found = np.array([[50.0, 1.5], [-49.0, -0.5]])
    assert weights.confined(found, [], 1, 2).tolist() == [[13.25, 1.125], [-12.25, -0.125]]
    # A path of many steps has room for it.
    assert weights.confined(found, [], 9, 20).tolist() == [[25.5, 1.25], [-24.5, -0.25]]


def test_steps_that_are_each_within_their_bounds_keep_those_of_the_mean():
    # Each adds up to 2; in the mean of a path it may be 1.25 at most.
    before = []
    for step in range(1, 9):
        found = weights.confined(alike(2.5, -0.5), before, 8, 11)
        before.append(terms(found))
        if step <= 2:  # by hand: 2 + 2 + 6 of reuse = 10 = 1.25 · 8
            assert found.tolist() == [[2.5], [-0.5]]
    assert found.ravel().tolist() == pytest.approx([1.0, 0.0], abs=2e-4)  # but for rounding
    weights.check(list(enumerate(before)), 11)
    with pytest.raises(
        ValueError, match=r"in the mean, add up to 2, .* a fit gives -0\.5 to 1\.25"
    ):
        weights.check([(n, terms(alike(2.5, -0.5))) for n in range(8)], 11)


def test_the_mean_of_a_path_is_also_one_over_its_channels():
    # Channels of 4 and -1.6 are 1.2 in the mean, of 4 and -1.4 they are 1.3.
    weights.check([(1, (Term(0, (4.0, -1.6)),))], 2)
    with pytest.raises(ValueError, match=r"in the mean, add up to 1\.3, .* to 2\.7"):
        weights.check([(1, (Term(0, (4.0, -1.4)),))], 2)


def test_no_weights_are_within_the_bounds():
    weights.check([], 50)


@pytest.mark.parametrize("total", [0.0, -0.4])
def test_weights_that_do_not_carry_a_run_to_its_end_are_of_few_steps_alone(total):
    found = [(step, (Term(step - 1, (total,)),)) for step in range(1, 6)]
    weights.check(found, 11)
    with pytest.raises(ValueError, match=r"in the mean, .* a fit gives 0\.05 to 1\.25"):
        weights.check(found, 12)


def test_each_channel_keeps_the_bounds_of_a_step_with_both_prompts():
    # Of the second channel 3 + 2.5 = 5.5; a number is for all channels.
    beyond = (Term(1, (1.0, 3.0)), Term(0, (0.25,)), Term(1, (-1.0, 2.25), SECOND))
    with pytest.raises(ValueError, match=r"step 2 add up to 0\.25 to 5\.5, .* to 5\.5; a fit give"):
        weights.check([(2, beyond)], 4)
    weights.check([(2, (*beyond[:2], Term(1, (-1.0, -2.25), SECOND)))], 4)


@pytest.mark.parametrize(
    ("stream", "most", "of"), [(0, 3, "after guidance"), (1, 2, "of the second prompt")]
)
def test_a_step_has_weights_for_so_many_velocities_of_each_prompt(stream, most, of):
    def of_step(count):
        own = [Term(step, (1 / count,), stream) for step in reversed(range(count))]
        return [(9, (*own, Term(0, (0.0,), 1 - stream)))]

    weights.check(of_step(most), 20)
    with pytest.raises(ValueError, match=f"weights for {most + 1} velocities {of}, .* {most} at m"):
        weights.check(of_step(most + 1), 20)
