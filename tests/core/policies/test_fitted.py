import random

import pytest
import torch

from gph_core.paths.custom import fit
from gph_core.policies.base import Anchor, Now
from gph_core.policies.fitted import Fitted
from gph_core.policies.weights import SECOND, Term
from gph_core.schedule import Schedule

# 0 1 3 are full of 6; steps 4 and 5 use two of them.
WEIGHTS = ((2, ((1, 1.5), (0, -0.5))), (4, ((3, 2.0), (1, -1.0))), (5, ((3, 3.0), (1, -2.0))))
POLICY = Fitted("0,1,3/6", WEIGHTS)


def anchor(step, value):
    return Anchor(step, 1 - step / 10, (torch.full((1, 2), value),))


def terms(*pairs):
    """Pairs of a full step and a weight for all channels, as terms."""
    return tuple(Term(step, (weight,)) for step, weight in pairs)


def test_a_cached_step_is_the_sum_with_its_own_weights():
    anchors = [anchor(3, 5.0), anchor(1, 2.0)]
    assert POLICY.predict(anchors, Now(4, 0.4, 0.2))[0].tolist() == [[8.0, 8.0]]  # 2·5 - 2
    assert POLICY.predict(anchors, Now(5, 0.2, 0.0))[0].tolist() == [[11.0, 11.0]]  # 3·5 - 2·2


def test_a_step_whose_full_steps_are_missing_cannot_be_predicted():
    assert POLICY.can_predict(4, [anchor(3, 1.0), anchor(1, 1.0)])
    assert not POLICY.can_predict(4, [anchor(3, 1.0), anchor(2, 1.0)])
    assert not POLICY.can_predict(3, [anchor(1, 1.0), anchor(0, 1.0)])  # it has no weights


def test_another_schedule_is_refused():
    POLICY.check(Schedule.parse("0,1,3/6"))
    POLICY.check(Schedule.parse("0-5/6"))  # nothing is cached
    with pytest.raises(ValueError, match=r"fitted for the schedule 0-1,3/6|0,1,3/6, this run has"):
        POLICY.check(Schedule.parse("0,2,3/6"))


def test_another_family_is_refused():
    own = Fitted("0,1,3/6", WEIGHTS, {"family": "FLUX"})
    own.check(Schedule.parse("0,1,3/6"), "FLUX")
    with pytest.raises(ValueError, match="were fitted for FLUX, this model is Wan"):
        own.check(Schedule.parse("0,1,3/6"), "Wan")


def test_a_run_of_the_last_steps_takes_their_weights():
    # Steps 1 to 5 as a run of their own: its steps 1, 3 and 4 were 2, 4 and 5. Step 2 used step 0,
    # which this run has not, so it is full.
    sigmas = [0.8, 0.65, 0.4, 0.3, 0.1, 0.0]
    levels = {"sigmas": [1.0, 0.8, 0.65, 0.4, 0.3, 0.1, 0.0]}
    policy = Fitted("0,1,3/6", WEIGHTS, levels)
    choice = fit(Schedule.parse("0,1,3/6"), policy, sigmas, 1.0, continues=True)
    assert choice.schedule == Schedule.parse("0-2/5")
    own = ((3, terms((2, 2.0), (0, -1.0))), (4, terms((2, 3.0), (0, -2.0))))
    assert choice.policy.weights == own
    assert choice.policy.conditions == {"sigmas": sigmas}
    choice.policy.check(choice.schedule)


def test_a_run_of_the_first_steps_takes_their_weights():
    sigmas = [1.0, 0.8, 0.65, 0.4]
    policy = Fitted("0,1,3/6", WEIGHTS, {"sigmas": [*sigmas, 0.3, 0.1, 0.0]})
    choice = fit(Schedule.parse("0,1,3/6"), policy, sigmas, 1.0)
    assert choice.schedule == Schedule.parse("0,1/3")
    assert choice.policy.weights == ((2, terms((1, 1.5), (0, -0.5))),)
    assert choice.policy.conditions == {"sigmas": sigmas}


def test_conditions_that_are_no_object_are_refused():
    with pytest.raises(ValueError, match="must be an object, not 5"):
        Fitted(conditions=5)


# Of both prompts, for two channels or for all alike.
RICH = Fitted(
    "0,1,3/5",
    (
        (2, (Term(1, (2.0, 3.0)), Term(0, (-1.0,)), Term(1, (0.5, -0.5), SECOND))),
        (4, (Term(3, (1.0, 0.5)), Term(1, (0.0, 0.25)))),
    ),
)


def of_both(step, guided, second, dtype=torch.float32):
    """An anchor of two channels with one number each."""
    streams = (torch.tensor(v, dtype=dtype).view(1, 2, 1, 1) for v in (guided, second))
    return Anchor(step, 1 - step / 10, tuple(streams))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_each_channel_has_its_own_weights_of_the_velocities_of_both_prompts(dtype):
    anchors = [of_both(1, [1.0, 2.0], [4.0, 8.0], dtype), of_both(0, [3.0, 5.0], [9.0, 9.0], dtype)]
    (found,) = RICH.predict(anchors, Now(2, 0.8, 0.6))
    # By hand: 2·1 - 3 + 0.5·4 and 3·2 - 5 - 0.5·8.
    assert found.shape == (1, 2, 1, 1)
    assert found.flatten().tolist() == [1.0, -3.0]
    assert found.dtype == dtype
    batch = [Anchor(a.step, a.sigma, tuple(torch.cat([t, 2 * t]) for t in a.feature))
             for a in anchors]  # fmt: skip
    assert RICH.predict(batch, Now(2, 0.8, 0.6))[0].flatten().tolist() == [1.0, -3.0, 2.0, -6.0]


def test_weighted_sums_that_half_precision_cannot_hold_are_its_largest_numbers():
    anchors = [of_both(n, [6e4, -6e4], [0.0, 0.0], torch.float16) for n in (1, 0)]
    policy = Fitted("0,1/3", ((2, (Term(1, (3.0, 3.0)), Term(0, (-1.0, -1.0)))),))
    assert policy.predict(anchors, Now(2, 0.8, 0.6))[0].flatten().tolist() == [65504.0, -65504.0]


def test_without_what_its_terms_need_a_step_cannot_be_predicted():
    both = [of_both(1, [1.0, 2.0], [4.0, 8.0]), of_both(0, [3.0, 5.0], [9.0, 9.0])]
    guided = [Anchor(a.step, a.sigma, a.feature[:1]) for a in both]
    assert [RICH.uses_second(step) for step in (0, 1, 3)] == [False, True, False]
    assert RICH.can_predict(2, both)
    assert not RICH.can_predict(2, guided)
    assert RICH.can_predict(2, [both[0], guided[1]])  # of step 0 the second has no weight
    after = [of_both(3, [1.0, 2.0], [0.0, 0.0]), *both]
    assert RICH.can_predict(4, [Anchor(a.step, a.sigma, a.feature[:1]) for a in after])
    three = [Anchor(a.step, a.sigma, tuple(torch.zeros(1, 3, 1, 1) for _ in "ab")) for a in both]
    assert not RICH.can_predict(2, three)
    one_for_all = Fitted("0,1,3/5", ((2, terms((1, 2.0), (0, -1.0))),))
    assert not any(map(one_for_all.uses_second, range(5)))
    assert one_for_all.can_predict(2, three)


def test_three_velocities_of_two_full_steps_need_two_anchors():
    assert RICH.num_anchors == 2
    alone = Fitted("0/2", ((1, (Term(0, (1.0,)), Term(0, (0.5,), SECOND))),))
    assert alone.num_anchors == 1


def test_a_part_of_a_run_keeps_whose_velocities_its_weights_are_for():
    # Steps 1 to 4 as a run of their own. Its step 1 used step 0, which this run has not.
    part = RICH.part(1, 4)
    assert part.weights == ((3, (Term(2, (1.0, 0.5)), Term(0, (0.0, 0.25)))),)
    assert not any(map(part.uses_second, range(4)))
    first = RICH.part(0, 3)
    assert first.weights == RICH.weights[:1]
    assert first.uses_second(1)
    shifted = Fitted("0,1,2/4", ((3, (Term(2, (1.0,)), Term(1, (0.5, 0.25), SECOND))),))
    assert shifted.part(1, 3).weights == (
        (2, (Term(1, (1.0,)), Term(0, (0.5, 0.25), SECOND))),
    )  # fmt: skip


def test_a_full_step_counts_among_the_newest_whichever_prompt_has_a_weight_there():
    own = ((1, (Term(0, (1.0,)),)), (3, (Term(2, (1.0,)), Term(0, (0.5,), SECOND))))
    policy = Fitted("0,2/4", own)
    assert policy.covered(Schedule.parse("0,2/4")) == Schedule.parse("0,2/4")
    assert policy.covered(Schedule.parse("0-2/4")) == Schedule.parse("0-3/4")  # 0 is too old


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (((2, ((1, float("nan")),)),), "are not all numbers"),
        (((2, (Term(1, (1.0, float("inf"))),)),), "are not all numbers"),
        (((2, ((0, 1.0), (1, 1.0))),), "newest first"),
        (((2, ((1, 1.0), (1, 1.0))),), "newest first"),
        (((2, (Term(1, (1.0,), SECOND), Term(1, (1.0,)))),), "newest first"),
        (((2, (Term(0, (1.0,), SECOND), Term(1, (1.0,), SECOND))),), "newest first"),
        (((2, ((2, 1.0),)),), "they must be earlier"),
        (((2, (Term(1, (1.0,)), Term(2, (1.0,), SECOND))),), "they must be earlier"),
        (((2, (Term(-1, (1.0,)),)),), "they must be earlier"),
        (((2, ()),), "they must be earlier"),
        (((2, (Term(1, ()),)),), "are for 0 channels"),
        (((2, (Term(1, (1.0,) * 1025),)),), "are for 1025 channels; .* 1024 at most"),
        (((2, (Term(1, (1.0, 1.0)), Term(0, (1.0,) * 3))),), "are for 2 and 3 channels; all must"),
        (((1, (Term(0, (1.0,) * 4),)), (2, (Term(1, (1.0,) * 3),))), "are for 3 and 4 channels"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights, reason):
    with pytest.raises(ValueError, match=reason):
        Fitted("0,1,3/6", weights)


def test_what_is_covered_follows_from_the_newest_full_steps_alone():
    """By the definition, which looks at all full steps before each cached one."""
    draw = random.Random(1)
    for _ in range(300):
        count = draw.randint(2, 12)
        schedule = Schedule((0, *(n for n in range(1, count) if draw.random() < 0.4)), count)
        anchors = {
            step: sorted(draw.sample(range(step), draw.randint(1, min(3, step))), reverse=True)
            for step in range(1, count) if draw.random() < 0.7
        }  # fmt: skip
        weights = tuple((n, tuple((a, 1.0) for a in own)) for n, own in anchors.items())
        policy, full = Fitted("", weights, spare=draw.randint(0, 2)), set(schedule.full_steps)
        for step in schedule.cached_steps:
            newest = sorted(n for n in full if n < step)[-policy.num_anchors :]
            if step not in anchors or not set(anchors[step]) <= set(newest):
                full.add(step)
        assert policy.covered(schedule) == Schedule(tuple(full), count)
