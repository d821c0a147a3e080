"""Weights of damped velocity that others can take are those that it predicts with."""

import random

import pytest
import torch

from gph_core.policies.base import Anchor, Now
from gph_core.policies.damped_velocity import DampedVelocity


def predicted_with(policy, sigmas, anchors, step):
    """Weights by which a prediction is a sum of the anchors, which are the axes of a space."""
    axes = torch.eye(len(anchors))
    history = [Anchor(n, sigmas[n], (axis,)) for n, axis in zip(anchors, axes, strict=True)]
    (found,) = policy.predict(history, Now(step, sigmas[step], sigmas[step + 1]))
    return found.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_they_are_those_of_its_prediction(seed):
    draw = random.Random(seed)
    sigmas = sorted((draw.uniform(0.01, 1.0) for _ in range(12)), reverse=True)
    policy = DampedVelocity().of_run(
        guidance=draw.choice([1.0, 1.5, 2.5, 6.0]), halfway=draw.uniform(0.3, 0.9),
        begin=sigmas[0], is_multistep=draw.random() < 0.5,
    )  # fmt: skip
    step = draw.randrange(2, 11)
    anchors = sorted(draw.sample(range(step), 2), reverse=True)
    weights = policy.weights(sigmas, anchors, step)
    assert weights == pytest.approx(predicted_with(policy, sigmas, anchors, step), rel=1e-6)
    assert sum(weights) == pytest.approx(1)
    older = [*anchors, -1]  # a third anchor has no weight
    assert policy.weights(sigmas, older, step) == weights


def test_after_a_single_full_step_its_velocity_is_repeated():
    sigmas, policy = [1.0, 0.7, 0.4, 0.0], DampedVelocity(3.0)
    assert policy.weights(sigmas, [0], 1) == [1.0] == predicted_with(policy, sigmas, [0], 1)


def test_without_guidance_they_extrapolate_all_the_way():
    assert DampedVelocity(1.0).weights([1.0, 0.8, 0.6, 0.4, 0.0], [1, 0], 3) == pytest.approx(
        [3, -2]
    )
