import random

import pytest
import torch

from gph_core.paths.custom import fit
from gph_core.policies.base import Anchor, Now
from gph_core.policies.fitted import Fitted
from gph_core.schedule import Schedule

# 0 1 3 are full of 6; steps 4 and 5 use two of them.
WEIGHTS = ((2, ((1, 1.5), (0, -0.5))), (4, ((3, 2.0), (1, -1.0))), (5, ((3, 3.0), (1, -2.0))))
POLICY = Fitted("0,1,3/6", WEIGHTS)


def anchor(step, value):
    return Anchor(step, 1 - step / 10, (torch.full((2,), value),))


def test_a_cached_step_is_the_sum_with_its_own_weights():
    anchors = [anchor(3, 5.0), anchor(1, 2.0)]
    assert POLICY.predict(anchors, Now(4, 0.4, 0.2))[0].tolist() == [8.0, 8.0]  # 2·5 - 2
    assert POLICY.predict(anchors, Now(5, 0.2, 0.0))[0].tolist() == [11.0, 11.0]  # 3·5 - 2·2


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
    assert choice.policy.weights == ((3, ((2, 2.0), (0, -1.0))), (4, ((2, 3.0), (0, -2.0))))
    assert choice.policy.conditions == {"sigmas": sigmas}
    choice.policy.check(choice.schedule)


def test_a_run_of_the_first_steps_takes_their_weights():
    sigmas = [1.0, 0.8, 0.65, 0.4]
    policy = Fitted("0,1,3/6", WEIGHTS, {"sigmas": [*sigmas, 0.3, 0.1, 0.0]})
    choice = fit(Schedule.parse("0,1,3/6"), policy, sigmas, 1.0)
    assert choice.schedule == Schedule.parse("0,1/3")
    assert choice.policy.weights == WEIGHTS[:1]
    assert choice.policy.conditions == {"sigmas": sigmas}


def test_conditions_that_are_no_object_are_refused():
    with pytest.raises(ValueError, match="must be an object, not 5"):
        Fitted(conditions=5)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (((2, ((1, float("nan")),)),), "are not all numbers"),
        (((2, ((0, 1.0), (1, 1.0))),), "newest first"),
        (((2, ((2, 1.0),)),), "they must be earlier"),
        (((2, ()),), "they must be earlier"),
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
