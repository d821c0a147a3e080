"""Fits to a few runs, against numpy and runs written out."""

import itertools

import numpy as np
import pytest
import torch

from gph_core.calibration.closed_loop import Products, fit
from gph_core.learning import few_runs
from gph_core.learning.few_runs import PULLS, SHARES, Strength, crossed, pooled

from ...support.few_runs import SCHEDULE, SIGMAS, runs_of, velocity


@pytest.fixture
def without_a_pull(monkeypatch):
    monkeypatch.setattr(few_runs, "best_strength", lambda *_: Strength(0.0, 1.0))


@pytest.mark.parametrize("fitting", [pooled, crossed])
def test_runs_whose_velocity_is_linear_in_the_noise_level_end_where_the_full_ones_do(fitting):
    # v = a + b σ is a combination of any two velocities, so weights of one run fit all.
    a, b = torch.randn(2, 40, generator=torch.Generator().manual_seed(1))
    runs, full, _ = runs_of(3, lambda _, sigma: a + sigma * b)
    for end, states in zip(fitting(SCHEDULE, runs, 3).ends, full, strict=True):
        torch.testing.assert_close(end, states[-1], rtol=1e-3, atol=1e-3)


def test_pooled_weights_are_those_of_the_closed_loop(without_a_pull):
    runs, full, _ = runs_of(4)
    expected = fit(
        SCHEDULE, runs.steps, [states[0] for states in full],
        lambda n: [states[n] for states in full], runs.velocities, ridge=0,
    )  # fmt: skip
    found = pooled(SCHEDULE, runs, 4)
    assert found.policy == expected.policy
    for end, other in zip(found.ends, expected.ends, strict=True):
        assert torch.equal(end, other)


def test_each_run_goes_on_under_weights_of_the_others(without_a_pull):
    runs, full, _ = runs_of(2, size=400)
    ends = crossed(SCHEDULE, runs, 2).ends

    # Written out: step 2 of run 0 under the weights that least squares give for run 1.
    def at_two(run):
        states = full[run]
        rows = torch.stack([velocity(states[n], SIGMAS[n])[0] for n in (1, 0)], 1)
        return rows.double().numpy(), ((states[3] - states[2])[0] / (0.4 - 0.65)).double().numpy()

    weights = np.linalg.lstsq(*at_two(1), rcond=None)[0]
    third = full[0][2] + (0.4 - 0.65) * torch.from_numpy(at_two(0)[0] @ weights).float()
    kept = []

    def keeping(step, now):
        kept.append((step, now[0]))
        return runs.velocities(step, now)

    watched = runs._replace(velocities=keeping)
    crossed(SCHEDULE, watched, 2)
    torch.testing.assert_close(dict(kept)[3], third, rtol=1e-4, atol=1e-4)
    assert not torch.equal(ends[0], pooled(SCHEDULE, runs, 2).ends[0])


@pytest.mark.parametrize("fitting", [pooled, crossed])
def test_the_model_is_asked_at_full_steps_alone_for_all_runs_together(fitting):
    runs, _, asked = runs_of(3)
    fitting(SCHEDULE, runs, 2)
    assert asked == [(0, 2), (1, 2), (3, 2)]


@pytest.mark.parametrize("fitting", [pooled, crossed])
@pytest.mark.parametrize("share", [1.0, 0.25, 0.0])
def test_weights_go_a_share_of_the_way_from_those_without_a_path(monkeypatch, fitting, share):
    def first_weights(share):
        monkeypatch.setattr(few_runs, "best_strength", lambda *_: Strength(1e-2, share))
        aim = [1.3, -0.3]
        runs, *_ = runs_of(3, toward=lambda step, anchors: aim)
        ((step, weights), *_) = fitting(SCHEDULE, runs, 3).policy.weights
        assert (step, [n for n, _ in weights]) == (2, [1, 0])
        return aim, [weight for _, weight in weights]

    aim, whole = first_weights(1.0)
    assert whole != pytest.approx(aim)
    expected = [a + share * (w - a) for a, w in zip(aim, whole, strict=True)]
    assert first_weights(share)[1] == pytest.approx(expected)


def products_of(rows, target):
    return Products((rows @ rows.T).tolist(), (rows @ target).tolist())


def test_the_strength_is_that_with_the_least_error_of_each_run_under_weights_of_the_others():
    random = np.random.default_rng(3)
    aim, examples = np.array([1.2, -0.2]), []
    for _ in range(3):
        rows = random.normal(size=(2, 12)) + random.normal(size=12)
        examples.append((rows, np.array([1.1, -0.3]) @ rows + 2 * random.normal(size=12)))
    found = few_runs.best_strength(
        [products_of(torch.tensor(r), torch.tensor(t)) for r, t in examples], aim.tolist()
    )
    errors = {}
    for pull, share in itertools.product(PULLS, SHARES):
        errors[pull, share] = 0.0
        for left_out, (rows, target) in enumerate(examples):
            others = [e for n, e in enumerate(examples) if n != left_out]
            a, b = sum(r @ r.T for r, _ in others), sum(r @ t for r, t in others)
            ridge = pull * np.trace(a) / 2 * np.eye(2)
            weights = aim + share * np.linalg.solve(a + ridge, b - a @ aim)
            errors[pull, share] += float(((weights @ rows - target) ** 2).sum())
    assert found == min(errors, key=errors.get)
    assert 0 < found.share < 1  # so that the case can tell


def test_runs_that_say_nothing_of_each_other_are_held_at_the_aim():
    # Two runs whose targets are opposite: what one says is wrong for the other.
    rows = torch.eye(2, 8, dtype=torch.float64)
    aim = [1.0, 0.0]
    targets = [aim[0] * rows[0] + sign * rows[1] for sign in (1, -1)]
    found = few_runs.best_strength([products_of(rows, target) for target in targets], aim)
    assert found.share == 0 or found.pull == PULLS[-1]
