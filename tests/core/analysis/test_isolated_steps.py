import math

import pytest
import torch

from gph_core.analysis.isolated_steps import IsolatedStep, Tried, isolated_steps, measured_steps
from gph_core.policies.extrapolation import Reuse, Taylor
from gph_core.policies.mean_velocity import MeanVelocity
from gph_core.policies.two_anchor import TwoAnchor
from gph_core.run.isolated_run import IsolatedRun

SIGMAS = (1.0, 0.75, 0.5, 0.25, 0.0)


class Halving:
    """v = 2 z, so that an Euler step of 1/4 halves the state. The feature is z, reused."""

    def __init__(self):
        self.features, self.calls = [], []

    def recorded(self, step, state):
        self.features.append(state)
        return self.full(step, state)

    def tried(self, step, state):
        errors = tuple((f - state).norm().item() for f in reversed(self.features))
        cached = 2 * self.features[-1]
        return Tried(self.recorded(step, state), cached, errors)

    def full(self, step, state):
        self.calls.append(step)
        return 2 * state


# States 16, 8, 4, 2, 1. With step 1 cached: δv = 2·16 - 2·8 = 16, η = -4, z_2 = 0, so z_4 = 0.
# With step 2 cached: δv = 2·8 - 2·4 = 8, η = -2, z_3 = 0, so z_4 = 0, too.
BY_HAND = [IsolatedStep(1, (8.0,), 16.0, 4.0, 1.0), IsolatedStep(2, (4.0, 12.0), 8.0, 2.0, 1.0)]


def followed(model, wanted):
    velocities = (model.recorded, model.tried, model.full)
    return list(isolated_steps(*velocities, torch.tensor([16.0]), SIGMAS, wanted))


def test_a_linear_run_gives_what_it_gives_by_hand():
    assert followed(Halving(), measured_steps(4)) == BY_HAND


def test_only_wanted_steps_are_followed_to_the_end():
    model = Halving()
    assert followed(model, {2}) == BY_HAND[1:]
    assert model.calls == [0, 1, 2, 3, 3]


def call(run, step, values, branches=("p", "n")):
    """One call of two branches at a step; what was predicted for them, or None."""
    decision = run.begin_call(SIGMAS[step], branches)
    features = [(torch.tensor([float(value), 0.0]),) for value in values]
    run.end_call(decision, branches, features)
    if not decision.is_cached:
        return None
    (found,) = decision.predicted(run.policy, torch.zeros(len(branches)))
    return found[::2].tolist()


def test_a_step_is_tried_as_a_cached_one_and_its_result_leads_nowhere():
    run = IsolatedRun(Taylor(1), SIGMAS)
    call(run, 0, (1, 10))
    call(run, 1, (2, 30))
    for values, expected in (((99, 99), [3, 50]), ((0, 0), [3, 50])):  # slopes 1 and 20
        with run.cached(2):
            assert call(run, 2, values) == expected
    assert call(run, 2, (4, 35)) is None
    with run.cached(3):
        assert call(run, 3, (99, 99)) == [6, 40]  # slopes 2 and 5


def test_feature_errors_are_over_all_branches_and_by_distance():
    run = IsolatedRun(Reuse(), SIGMAS, reach=2)
    for step, values in enumerate([(1, 10), (4, 14), (4, 20)]):
        call(run, step, values)
    assert run.feature_errors(0) == ()
    assert run.feature_errors(1) == (5.0,)  # 3, 4
    assert run.feature_errors(2) == pytest.approx((6.0, math.sqrt(9 + 100)))


def test_at_a_distance_all_steps_up_to_the_anchor_count_as_full():
    run = IsolatedRun(Taylor(1), SIGMAS, reach=3)
    for step, values in enumerate([(0, 0), (1, 2), (4, 4), (0, 0)]):
        call(run, step, values)
    # At step 2: 2 and 4 from the steps 0 and 1; repeated from step 0 alone.
    assert run.feature_errors(2) == pytest.approx((2.0, math.sqrt(32)))
    # At step 3: 4 + 3 and 4 + 2; from step 1 with the slopes 1 and 2 twice; from step 0.
    expected = [math.hypot(*pair) for pair in ((7, 6), (3, 6), (0, 0))]
    assert run.feature_errors(3)[: len(expected)] == pytest.approx(expected)


def test_branches_may_come_one_by_one():
    run = IsolatedRun(Reuse(), SIGMAS)
    for step, values in enumerate([(1, 10), (4, 14)]):
        for branch, value in zip("pn", values, strict=True):
            call(run, step, (value,), branch)
    assert run.feature_errors(1) == (5.0,)


def test_a_branch_that_begins_on_the_way_is_an_error_that_says_so():
    run = IsolatedRun(Reuse(), SIGMAS)
    call(run, 0, (1, 1))
    with pytest.raises(ValueError, match=r"step 1 cannot be cached .* no anchor"), run.cached(1):
        call(run, 1, (1, 1), ("p", "other"))


def test_a_policy_that_builds_on_its_predictions_is_measured_over_one_step():
    assert IsolatedRun(MeanVelocity(), SIGMAS, reach=3).reach == 1


def test_a_policy_that_predicts_inside_the_model_is_refused():
    with pytest.raises(ValueError, match="predicted inside the model; choose a policy that"):
        IsolatedRun(TwoAnchor(), SIGMAS)
