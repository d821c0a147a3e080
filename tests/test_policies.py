"""Weights against the worked examples of the method notes, and one contract for every policy."""

import pytest
import torch

from gph_core.policies import Hermite, Reuse, Taylor, combine

POLICIES = [Reuse(), Taylor(1), Taylor(2), Hermite(1), Hermite(2), Hermite(2, 0.7)]


@pytest.mark.parametrize(
    ("policy", "weights", "value"),
    [
        (Reuse(), [1.0], 2.0),
        (Taylor(1), [1.666667, -0.666667], 2.333333),
        (Hermite(1), [1.333333, -0.333333], 2.166667),
        (Taylor(2), [1.888889, -1.155556, 0.266667], 2.177778),
        (Hermite(2), [1.381944, -0.440278, 0.058333], 2.132639),
    ],
    ids=str,
)
def test_weights_of_a_worked_example(policy, weights, value):
    # Full steps 19, 24, 30 with values 0.5, 1.5, 2.0; predict step 34.
    found = policy.weights([30, 24, 19], 34)
    assert found == pytest.approx(weights, abs=1e-6)
    features = [torch.tensor(v, dtype=torch.float64) for v in (2.0, 1.5, 0.5)][: len(found)]
    assert combine(features, found).item() == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
class TestContract:
    def test_one_anchor_is_reuse(self, policy):
        assert policy.weights([7], 9) == [1.0]

    def test_weights_sum_to_one(self, policy):
        for steps in ([5], [5, 3], [5, 3, 2], [5, 3, 2, 0]):
            weights = policy.weights(steps, 9)
            assert len(weights) == min(len(steps), policy.num_anchors)
            assert sum(weights) == pytest.approx(1)

    def test_a_constant_feature_is_predicted_exactly(self, policy):
        weights = policy.weights([8, 5, 1], 11)
        feature = torch.full((2, 3), 1.5)
        torch.testing.assert_close(combine([feature] * len(weights), weights), feature)


@pytest.mark.parametrize("order", [1, 2])
def test_taylor_is_exact_on_a_line(order):
    policy = Taylor(order)
    steps = [20, 13, 9]
    weights = policy.weights(steps, 26)
    prediction = sum(w * (3 * s - 1) for w, s in zip(weights, steps, strict=False))
    assert prediction == pytest.approx(3 * 26 - 1)


def test_hermite_of_order_1_is_exact_on_a_line_at_scale_root_half():
    # 2 σ² = 1 there; a wrong sign of x would be off by twice the slope.
    weights = Hermite(1, 0.5**0.5).weights([20, 13], 26)
    assert weights[0] * 20 + weights[1] * 13 == pytest.approx(26)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_combining_keeps_dtype_and_rounds_once(dtype):
    features = [torch.tensor([1.0, 257.0], dtype=dtype), torch.tensor([0.5, 3.0], dtype=dtype)]
    weights = [5 / 3, -2 / 3]
    exact = features[0].double() * weights[0] + features[1].double() * weights[1]
    found = combine(features, weights)
    assert found.dtype == dtype
    torch.testing.assert_close(found, exact.to(dtype), rtol=torch.finfo(dtype).eps, atol=0)


def test_combining_leaves_the_anchors_alone():
    features = [torch.ones(3), torch.zeros(3)]
    combine(features, [2.0, -1.0])
    assert features[0].tolist() == [1, 1, 1]
    assert features[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", [Taylor, Hermite])
@pytest.mark.parametrize("order", [0, 3])
def test_other_orders_are_refused(kind, order):
    with pytest.raises(ValueError, match=f"order 1 or 2, got {order}"):
        kind(order)


@pytest.mark.parametrize("scale", [0.0, 1.5])
def test_other_scales_are_refused(scale):
    with pytest.raises(ValueError, match="scale must be above 0"):
        Hermite(2, scale)
