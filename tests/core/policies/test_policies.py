"""All modules of policies: worked examples of the method notes, and one contract."""

import pytest
import torch
from safetensors.torch import save_file

from gph_core.noise import without_shift
from gph_core.policies import causal_linear
from gph_core.policies.base import Anchor, Now, ProbedPrediction, Site, combine
from gph_core.policies.causal_linear import CausalLinear
from gph_core.policies.damped_velocity import DampedVelocity
from gph_core.policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from gph_core.policies.mean_velocity import MeanVelocity
from gph_core.policies.two_anchor import TwoAnchor
from gph_core.schedule import Schedule, uniform

WEIGHTED = [
    Reuse(),
    Reuse(Site.OUTPUT),
    Reuse(Site.GUIDED),
    Taylor(1),
    Taylor(2),
    Taylor(2, site=Site.GUIDED),
    Taylor(2, divided=True),
    Taylor(2, max_amplification=2.0),
    Taylor(2, max_distance=1),
    TokenTaylor(),
    Hermite(1),
    Hermite(2),
    Hermite(2, 0.7),
    Hermite(2, divided=True),
]
REPEATS = CausalLinear(torch.diag(torch.ones(19), -1))  # each step repeats the one before
ALL = [*WEIGHTED, MeanVelocity(), MeanVelocity(6), REPEATS, DampedVelocity()]


def anchors(steps, values, dtype=torch.float32):
    """Anchors at steps, newest first, on noise levels that fall by 0.05 a step."""

    def anchor(step, value):
        feature = (torch.full((2, 3), value, dtype=dtype),)
        return Anchor(step, 1 - step / 20, feature, torch.full((2, 3), value), probe=feature)

    return [anchor(s, v) for s, v in zip(steps, values, strict=True)]


def now(step):
    return Now(step, 1 - step / 20, 1 - (step + 1) / 20, torch.zeros(2, 3))


def predicted(policy, anchors, step):
    """The feature at a step whose probe, if the policy needs one, is far from those before."""
    if not isinstance(policy, ProbedPrediction):
        (found,) = policy.predict(anchors, now(step))
        return found
    newest, before = anchors[0], anchors[:2][-1]  # a lone anchor counts twice, as in a run
    probe = torch.full_like(newest.feature[0], 9.0)
    (p1,), (p2,) = newest.probe, before.probe
    return policy.extrapolate(probe, (p1, p2), (*newest.feature, *before.feature))


@pytest.mark.parametrize(
    ("policy", "weights", "value"),
    [
        (Reuse(), [1.0], 2.0),
        (Taylor(1), [1.666667, -0.666667], 2.333333),
        (Hermite(1), [1.333333, -0.333333], 2.166667),
        (Taylor(2), [1.888889, -1.155556, 0.266667], 2.177778),
        (TokenTaylor(), [1.888889, -1.155556, 0.266667], 2.177778),
        (Hermite(2), [1.381944, -0.440278, 0.058333], 2.132639),
        (Taylor(2, divided=True), [2.272727, -2.0, 0.727273], 1.909091),
    ],
    ids=str,
)
def test_weights_of_a_worked_example(policy, weights, value):
    # Full steps 19, 24, 30 with values 0.5, 1.5, 2.0; predict step 34.
    found = policy.weights([30, 24, 19], 34)
    assert found == pytest.approx(weights, abs=1e-6)
    features = [torch.tensor(v, dtype=torch.float64) for v in (2.0, 1.5, 0.5)][: len(found)]
    assert combine(features, found).item() == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("policy", [*ALL, TwoAnchor()], ids=str)
class TestContract:
    def test_one_anchor_is_reuse(self, policy):
        found = predicted(policy, anchors([7], [1.5]), 8)
        assert found.tolist() == [[1.5] * 3] * 2

    def test_the_dtype_is_kept(self, policy):
        for dtype in (torch.float32, torch.bfloat16):
            found = predicted(policy, anchors([7, 6, 5], [1.0, 2.0, 4.0], dtype), 8)
            assert found.dtype == dtype


@pytest.mark.parametrize("policy", ALL, ids=str)
def test_more_anchors_than_declared_do_not_change_the_prediction(policy):
    steps, values = list(range(15, -1, -1)), [float(s % 4) for s in range(16)]
    enough = policy.num_anchors
    (all_given,) = policy.predict(anchors(steps, values), now(16))
    (declared,) = policy.predict(anchors(steps[:enough], values[:enough]), now(16))
    assert torch.equal(all_given, declared)


@pytest.mark.parametrize("policy", WEIGHTED, ids=str)
def test_weights_sum_to_one_and_lower_the_order(policy):
    for steps in ([5], [5, 3], [5, 3, 2], [5, 3, 2, 0]):
        weights = policy.weights(steps, 9)
        assert len(weights) <= min(len(steps), policy.num_anchors)
        assert sum(weights) == pytest.approx(1)


@pytest.mark.parametrize("policy", [Taylor(1), Taylor(2), Taylor(2, divided=True)], ids=str)
def test_taylor_is_exact_on_a_line(policy):
    steps = [20, 13, 9]
    weights = policy.weights(steps, 26)
    prediction = sum(w * (3 * s - 1) for w, s in zip(weights, steps, strict=False))
    assert prediction == pytest.approx(3 * 26 - 1)


def test_divided_differences_are_exact_on_a_parabola():
    steps = [20, 13, 9]
    weights = Taylor(2, divided=True).weights(steps, 26)
    assert sum(w * s**2 for w, s in zip(weights, steps, strict=True)) == pytest.approx(26**2)


def test_a_policy_warns_of_gaps_that_it_cannot_bridge():
    # Steps 3 to 14 and 16 to 26 are cached: 12 and 11 steps behind the newest full one.
    gap = Schedule.parse("0-2,15,27/28")
    for policy in (Taylor(1), Hermite(2), TokenTaylor()):
        words = f"{policy} extrapolates over 12 steps up to step 14, 43% of the run; beyond 10%"
        assert policy.risk(gap).startswith(words)
    # A tenth of the run itself is not beyond it.
    assert Taylor(1).risk(Schedule.parse("0-3,5,7,9/10")) == ""
    assert "2 steps up to step 5" in Taylor(1).risk(Schedule.parse("0-3,6,8/10"))
    assert "3 steps" in Taylor(1, max_distance=3).risk(Schedule.parse("0-2,9/10"))
    assert Taylor(1, max_distance=1).risk(Schedule.parse("0-2,9/10")) == ""
    # One full step gives nothing to extrapolate from, nor does a limit that leaves only reuse.
    assert Taylor(1).risk(Schedule.parse("0/10")) == ""
    assert Taylor(1, max_amplification=1).risk(gap) == ""
    assert Reuse().risk(gap) == ""
    assert Taylor(1).risk(Schedule.all_full(4)) == ""


def test_the_amplification_limit_lowers_the_order():
    steps = [3, 2, 1]
    # At step 14: x = 11, so Taylor 1 adds up to 1 + 2 * 11 = 23, Taylor 2 to far more.
    assert len(Taylor(2, max_amplification=25).weights(steps, 14)) == 2
    assert Taylor(2, max_amplification=8).weights(steps, 14) == [1.0]
    assert len(Taylor(2, max_amplification=8).weights(steps, 4)) == 3


def test_the_distance_limit_stops_the_trend():
    limited = Taylor(1, max_distance=3)
    assert limited.weights([10, 8], 12) == Taylor(1).weights([10, 8], 12)
    assert limited.weights([10, 8], 20) == Taylor(1).weights([10, 8], 13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_combining_keeps_dtype_and_rounds_once(dtype):
    features = [torch.tensor([1.0, 257.0], dtype=dtype), torch.tensor([0.5, 3.0], dtype=dtype)]
    weights = [5 / 3, -2 / 3]
    exact = features[0].double() * weights[0] + features[1].double() * weights[1]
    found = combine(features, weights)
    assert found.dtype == dtype
    torch.testing.assert_close(found, exact.to(dtype), rtol=torch.finfo(dtype).eps, atol=0)


def test_half_precision_is_clamped_as_models_do():
    features = [torch.tensor([6e4], dtype=torch.float16), torch.tensor([-6e4], dtype=torch.float16)]
    assert combine(features, [5 / 3, -2 / 3]).item() == 65504
    one, other = (torch.full((1, 2, 3), v, dtype=torch.float16) for v in (6e4, -6e4))
    found = TwoAnchor().extrapolate(one, (one / 2, other), (one, other))
    assert found.unique().tolist() == [65504]


def test_combining_leaves_the_anchors_alone():
    features = [torch.ones(3), torch.zeros(3)]
    combine(features, [2.0, -1.0])
    assert features[0].tolist() == [1, 1, 1]
    assert features[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("span", "expected"), [(1, 1.3), (2, 1.348), (3, 1.406122)], ids=["1", "2", "3"]
)
def test_mean_velocity_of_a_worked_example(span, expected):
    # Noise levels 1, 0.9, 0.8, 0.65, 0.45, velocities 1.0, 1.2, 1.3, Euler states; step 3 cached.
    history = [
        Anchor(n, sigma, (torch.tensor([v]),), latent=torch.tensor([z]))
        for n, sigma, v, z in ((2, 0.8, 1.3, -0.22), (1, 0.9, 1.2, -0.1), (0, 1.0, 1.0, 0.0))
    ]
    here = Now(3, 0.65, 0.45, torch.tensor([-0.415]))
    (found,) = MeanVelocity(span).predict(history, here)
    assert found.item() == pytest.approx(expected, abs=1e-5)
    (found,) = MeanVelocity(4, spans=((3, span),)).predict(history, here)
    assert found.item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("span", "share"), [(2, 0.25), (3, 1 / 3), (4, 0.375), (5, 0.4)])
def test_mean_velocity_follows_a_share_of_the_slope(span, share):
    # On Euler states of a velocity linear in the noise level the slope is damped to (p-1)/2p.
    slope, states, z = 2.0, [], 0.0
    for n in range(6):
        sigma = 1 - n / 10
        states.append(Anchor(n, sigma, (torch.tensor([slope * sigma]),), latent=torch.tensor([z])))
        z += -0.1 * slope * sigma
    here = Now(6, 0.4, 0.3, torch.tensor([z]))
    (found,) = MeanVelocity(span).predict(states[::-1], here)
    assert found.item() == pytest.approx(slope * 0.5 - 0.1 * share * slope, abs=1e-5)


def test_a_velocity_that_follows_its_slope_warns_where_damped_velocity_would_not():
    # Steps 3 and 4 come one and two steps after the newest full one, 6 to 9 one to four.
    schedule, policy = Schedule.parse("0-2,5/10"), Taylor(1, site=Site.GUIDED)

    def up_to(most):
        return lambda full, step: 1.0 if step - full <= most else 0.0

    assert policy.risk(schedule, up_to(4)) == ""
    assert policy.risk(schedule, up_to(3)).startswith(
        "velocity Taylor order 1 extrapolates over 4 steps up to step 9, where guidance is too "
    )
    assert "% of the run" in policy.risk(schedule)  # of an unknown run
    for other in (Taylor(1), Taylor(2, site=Site.GUIDED)):
        assert "40% of the run" in other.risk(schedule, up_to(4))


@pytest.mark.parametrize(
    ("guidance", "expected"),
    # v(0.8) = 3, v(0.9) = 5; at 0.7 one whole slope further is 1. Half of the model's own schedule
    # is at 0.5, so the way is 0.8 - 0.6: at g = 2 the strength is 1 - 2 * 0.2.
    [(None, 1.0), (1.0, 1.0), (2.0, 1.8), (3.0, 2.6), (3.5, 3.0), (9.0, 3.0)],
)
def test_damped_velocity_extrapolates_less_the_stronger_guidance_is(guidance, expected):
    history = [Anchor(2, 0.8, (torch.tensor([3.0]),)), Anchor(1, 0.9, (torch.tensor([5.0]),))]
    policy = DampedVelocity()
    if guidance is not None:
        policy = policy.of_run(guidance=guidance, halfway=0.5)
    (found,) = policy.predict(history, Now(3, 0.7, 0.6))
    assert found.item() == pytest.approx(expected)
    assert policy.predict(history[:1], Now(3, 0.7, 0.6)) == history[0].feature


def test_the_strength_is_that_of_noise_levels_without_the_shift():
    # A shift by 3 takes 0.5 to 0.75 and 0.25 to 0.5: a quarter of the way, at g = 2 half strength.
    assert DampedVelocity(2.0, 0.75).strength(0.75, 0.5) == pytest.approx(0.5)
    assert DampedVelocity(2.0, 0.75, is_multistep=True).strength(0.75, 0.5) == pytest.approx(0.25)


def test_a_gap_is_too_long_by_the_same_noise_levels():
    # A shift by 3 takes 0.5 to 0.75 and 0.25 to 0.5. The longest gap is from step 1 to the end,
    # 0.5: times 1.4 it is 0.7, times 1.5 it is 0.75, and for multistep samplers half as much more.
    sigmas, schedule = (1.0, 0.75, 0.5, 0.0), Schedule.parse("0,1/3")
    for guidance, of_euler, of_multistep in (
        (1.9, False, False), (2.0, False, True), (2.4, False, True), (2.5, True, True)
    ):  # fmt: skip
        assert DampedVelocity(guidance, 0.75).is_far(schedule, sigmas) == of_euler
        multistep = DampedVelocity(guidance, 0.75, is_multistep=True)
        assert multistep.is_far(schedule, sigmas) == of_multistep
        assert not DampedVelocity(99.0).is_far(Schedule.all_full(3), sigmas)  # no cached step


def test_distances_are_shares_of_the_noise_where_the_run_begins():
    # Image to image from 0.4 on: from 0.3 to 0.2 is a quarter of its noise.
    assert DampedVelocity(2.0, begin=0.4).strength(0.3, 0.2) == pytest.approx(1 - 2 * 0.25)
    policy = DampedVelocity(2.0, begin=0.4)  # from step 1 to the end: 0.3 of 0.4
    assert policy.is_far(Schedule.parse("0-1/3"), (0.4, 0.3, 0.2, 0.0))
    assert not DampedVelocity(2.0).is_far(Schedule.parse("0-1/3"), (0.4, 0.3, 0.2, 0.0))


def test_a_part_of_a_run_below_one_has_the_scale_of_its_model():
    # Sigmas that are ratios of noise to signal: 0.4 / (0.4 + 0.4) and 0.1 / (0.1 + 0.4).
    policy = DampedVelocity(1.5, 0.4, sigma_max=80.0, begin=0.4)
    assert policy.strength(0.4, 0.1) == pytest.approx(1 - 2 * 0.5 * (0.5 - 0.2) / 0.5)
    assert without_shift([0.4, 0.1, 0], 0.4, 80.0) == pytest.approx([0.5, 0.2, 0])


@pytest.mark.parametrize(
    ("policy", "probe", "expected"),
    # Anchors: P1 = 3, P2 = 1, R1 = 10, R2 = 4. γ = |P - 1| / 2 within 1 and 1.5, or 2.
    [
        (TwoAnchor(), 2.0, 10.0),
        (TwoAnchor(), 3.0, 10.0),
        (TwoAnchor(), 3.5, 11.5),
        (TwoAnchor(), 9.0, 13.0),
        (TwoAnchor(), -3.0, 13.0),
        (TwoAnchor(max_gamma=2.0), 4.5, 14.5),
        (TwoAnchor(max_gamma=2.0), 9.0, 16.0),
    ],
)
def test_two_anchors_extrapolate_by_the_probe(policy, probe, expected):
    def tokens(value):
        return torch.full((1, 2, 3), value)

    found = policy.extrapolate(
        tokens(probe), (tokens(3.0), tokens(1.0)), (tokens(10.0), tokens(4.0))
    )
    torch.testing.assert_close(found, tokens(expected))


def test_two_anchors_reduce_each_sample_on_its_own():
    probe = torch.tensor([2.0, 9.0])[:, None, None].expand(2, 4, 3)
    one, two = torch.ones(2, 4, 3), torch.zeros(2, 4, 3)
    found = TwoAnchor().extrapolate(probe, (3 * one, one), (one, two))
    assert found[:, 0, 0].tolist() == [1.0, 1.5]


def test_equal_anchors_are_reuse():
    same = torch.ones(1, 2, 3)
    assert torch.equal(TwoAnchor().extrapolate(2 * same, (same, same), (same, same)), same)


def test_causal_linear_uses_all_steps_before():
    matrix = torch.zeros(4, 4)
    matrix[3, :3] = torch.tensor([0.5, -1.0, 2.0])
    history = anchors([2, 1, 0], [3.0, 5.0, 7.0])
    (found,) = CausalLinear(matrix).predict(history, now(3))
    torch.testing.assert_close(found, torch.full((2, 3), 0.5 * 7 - 5 + 2 * 3))
    # A step that is not stored is left out without renormalising.
    (found,) = CausalLinear(matrix).predict(history[:2], now(3))
    torch.testing.assert_close(found, torch.full((2, 3), -5.0 + 6))


def test_causal_linear_weights_are_read_from_a_file(tmp_path):
    weights, path = torch.rand(5, 5).tril(-1), tmp_path / "fit.safetensors"
    header = {"format": "golden-path-causal-linear-1"}
    save_file({"weights": weights}, path, header)
    assert torch.equal(causal_linear.load(path).matrix, weights)
    assert causal_linear.load(path).conditions == {}
    save_file({"weights": weights}, path, header | {"conditions": '{"family": "FLUX"}'})
    assert causal_linear.load(path).conditions == {"family": "FLUX"}


def test_other_files_are_refused_by_name(tmp_path):
    text, tensors = tmp_path / "text.safetensors", tmp_path / "lora.safetensors"
    text.write_text("no tensors")
    save_file({"weights": torch.zeros(2, 2)}, tensors)
    with pytest.raises(ValueError, match=r"text\.safetensors cannot be read"):
        causal_linear.load(text)
    with pytest.raises(ValueError, match=r"lora\.safetensors holds no causal linear weights"):
        causal_linear.load(tensors)
    with pytest.raises(ValueError, match=r"none\.safetensors cannot be read"):
        causal_linear.load(tmp_path / "none.safetensors")


@pytest.mark.parametrize("conditions", ["{", "[1]", "5", "[" * 5000])
def test_weights_with_broken_conditions_are_refused_by_name(tmp_path, conditions):
    path = tmp_path / "fit.safetensors"
    header = {"format": "golden-path-causal-linear-1", "conditions": conditions}
    save_file({"weights": torch.zeros(2, 2)}, path, header)
    with pytest.raises(ValueError, match=r"weights in fit\.safetensors cannot be used"):
        causal_linear.load(path)


@pytest.mark.parametrize("matrix", [torch.zeros(2, 3), torch.ones(2, 2), torch.zeros(3)])
def test_weights_that_look_ahead_are_refused(matrix):
    with pytest.raises(ValueError, match=r"square matrix|earlier steps only"):
        CausalLinear(matrix)


@pytest.mark.parametrize(
    ("policy", "schedule", "message"),
    [
        (TwoAnchor(), "0,2/5", "two-anchor needs 2 full steps .* step 1 is cached"),
        (MeanVelocity(), "0,2/5", "mean velocity, span 4 needs 2 full steps .* step 1 is cached"),
        (Hermite(2), "0,1,4/5", "Hermite order 2, scale 0.5 needs 3 full steps .* step 2"),
        (TokenTaylor(), "0,1,4/5", "DPCache order 2 needs 3 full steps"),
        (REPEATS, "0,1/5", "fitted for 20 steps but the sampler runs 5"),
    ],
    ids=["two-anchor", "mean velocity", "Hermite", "DPCache", "causal linear"],
)
def test_a_schedule_with_too_few_anchors_is_refused(policy, schedule, message):
    with pytest.raises(ValueError, match=message):
        policy.check(Schedule.parse(schedule))


def test_weights_fitted_for_another_model_are_refused_where_a_step_is_cached():
    policy = CausalLinear(REPEATS.matrix, {"family": "Qwen-Image"})
    with pytest.raises(ValueError, match="fitted for Qwen-Image, this model is FLUX"):
        policy.check(uniform(20, 9), "FLUX")
    policy.check(uniform(20, 9), "Qwen-Image")
    policy.check(uniform(20, 9))  # the model is not known yet
    policy.check(Schedule.all_full(20), "FLUX")


@pytest.mark.parametrize("policy", [*WEIGHTED, TwoAnchor(), MeanVelocity()], ids=str)
def test_enough_anchors_or_no_cached_step_are_accepted(policy):
    policy.check(uniform(20, 9))
    policy.check(Schedule.all_full(1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Taylor(0), "order 1 or 2, got 0"),
        (lambda: Hermite(3), "order 1 or 2, got 3"),
        (lambda: Hermite(2, 0.0), "scale must be above 0"),
        (lambda: Hermite(2, 1.5), "scale must be above 0"),
        (lambda: Taylor(1, max_amplification=0.5), "amplification below 1"),
        (lambda: Taylor(1, max_distance=0), "distance limit must be at least 1"),
        (lambda: MeanVelocity(0), "a span is 1 to 6 steps, got 0"),
        (lambda: MeanVelocity(4, spans=((3, 7),)), "a span is 1 to 6 steps, got 7"),
    ],
)
def test_other_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
