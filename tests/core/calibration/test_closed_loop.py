"""Fits in a closed loop, against numpy and runs written out."""

import itertools
import weakref

import numpy as np
import pytest
import torch

from gph_core.calibration.closed_loop import Course, Loop, Products, fit, solved
from gph_core.calibration.steps import Steps, euler
from gph_core.policies import weights
from gph_core.policies.base import Anchor, Now
from gph_core.schedule import Schedule
from gph_core.search.prefix import PrefixMemory

SIGMAS = [1.0, 0.8, 0.65, 0.4, 0.3, 0.1, 0.0]
SCHEDULE = Schedule.parse("0,1,3/6")


def full_run(velocity, start):
    """States of Euler's method, written out."""
    states = [start]
    for now, following in itertools.pairwise(SIGMAS):
        states.append(states[-1] + (following - now) * velocity(states[-1], now))
    return states


def starts(count=5, size=40):
    random = torch.Generator().manual_seed(0)
    return [torch.randn(size, generator=random, dtype=torch.float64) for _ in range(count)]


def fitted(velocity, runs, **options):
    full = [full_run(velocity, start) for start in runs]
    found = fit(
        SCHEDULE, euler(SIGMAS), runs, lambda n: [states[n] for states in full],
        lambda n, now: [velocity(state, SIGMAS[n]) for state in now], **options,
    )  # fmt: skip
    return found, full


def test_runs_whose_velocity_is_linear_in_the_noise_level_end_where_the_full_ones_do():
    # v = a + b σ with vectors a, b is a combination of any two velocities, at any step.
    a, b = starts(2)
    found, full = fitted(lambda _, sigma: a + sigma * b, starts(), ridge=0, num_anchors=2)
    for end, states in zip(found.ends, full, strict=True):
        torch.testing.assert_close(end, states[-1], rtol=1e-4, atol=1e-5)


def two_step():
    """Steps that go by half of the velocity before, too."""
    lengths = [following - now for now, following in itertools.pairwise(SIGMAS)]
    first, *others = lengths
    moves = [((n, 1.5 * h), (n - 1, -0.5 * h)) for n, h in enumerate(others, 1)]
    return Steps((((0, first),), *moves), 0.0)


def test_a_sampler_of_two_steps_aims_at_its_next_state_with_what_it_adds_of_the_step_before():
    def velocity(state, sigma):
        return torch.sin(3 * state) * sigma + state

    def run(start):
        states, known = [start], []
        for n, (now, following) in enumerate(itertools.pairwise(SIGMAS)):
            known.append(velocity(states[-1], now))
            mixed = 1.5 * known[n] - 0.5 * known[n - 1] if n else known[n]
            states.append(states[-1] + (following - now) * mixed)
        return states, known

    full = [run(start) for start in starts()]
    found = fit(
        SCHEDULE, two_step(), starts(), lambda n: [states[n] for states, _ in full],
        lambda n, now: [velocity(state, SIGMAS[n]) for state in now], ridge=0,
    )  # fmt: skip
    # Step 2 is the first cached one, so the runs are the full ones up to it.
    length = SIGMAS[3] - SIGMAS[2]
    target = torch.cat([
        (states[3] - states[2] + 0.5 * length * known[1]) / (1.5 * length)
        for states, known in full
    ])  # fmt: skip
    matrix = torch.stack([torch.cat([known[n] for _, known in full]) for n in (1, 0)], 1)
    expected = np.linalg.lstsq(matrix.numpy(), target.numpy(), rcond=None)[0]
    (step, weights), *_ = found.policy.weights
    assert (step, [n for n, _ in weights]) == (2, [1, 0])
    assert [w for _, w in weights] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("steps", [euler(SIGMAS), two_step()])
def test_velocities_are_dropped_when_no_step_needs_them(steps):
    alive, counts = weakref.WeakSet(), []

    class Velocity(torch.Tensor):
        __hash__ = object.__hash__

    def velocities(n, now):
        found = [(state + n).as_subclass(Velocity) for state in now]
        alive.update(found)
        counts.append(len(alive) // len(found))
        return found

    fit(Schedule.all_full(6), steps, starts(), lambda n: starts(), velocities, num_anchors=1)
    assert counts == [1, 2, 2, 2, 2, 2]  # the newest, and the one before


def test_a_strong_ridge_is_velocity_reuse_bit_for_bit():
    found, _ = fitted(lambda x, sigma: torch.sin(x) + sigma, starts(), ridge=1e30)
    assert all(weights[0][1] == 1 for _, weights in found.policy.weights)
    anchors = [Anchor(n, SIGMAS[n], (torch.randn(4),)) for n in (3, 1, 0)]
    predicted = found.policy.predict(anchors, Now(4, SIGMAS[4], SIGMAS[5]))
    assert torch.equal(predicted[0], anchors[0].feature[0])


def products_of(rows, target):
    return Products((rows @ rows.T).tolist(), (rows @ target).tolist())


def equations(count=2, anchors=3, size=30):
    """Velocities and what their weighted sum should be, of some runs."""
    random = np.random.default_rng(5)
    return [
        (random.normal(size=(anchors, size)), random.normal(size=size)) for _ in range(count)
    ]  # fmt: skip


def test_weights_come_from_the_equations_of_all_runs():
    runs = equations()
    rows, target = np.concatenate([r for r, _ in runs], 1), np.concatenate([t for _, t in runs])
    found = solved([products_of(*run) for run in runs], ridge=0)
    assert found == pytest.approx(np.linalg.lstsq(rows.T, target, rcond=None)[0], rel=1e-6)


def test_weights_are_pulled_to_an_aim_as_strongly_as_the_ridge_says():
    ((rows, target),), aim = equations(1), np.array([1.5, -0.25, 0.0])
    a, ridge = rows @ rows.T, 0.3
    pull = ridge * np.trace(a) / 3 * np.eye(3)
    expected = np.linalg.solve(a + pull, rows @ target + pull @ aim)
    assert solved([products_of(rows, target)], ridge, [1.5, -0.25]) == pytest.approx(
        expected, rel=1e-6
    )


@pytest.mark.parametrize("aim", [[1.4, -0.4], [0.9, 0.3, -0.2], [1.0]])
def test_a_strong_ridge_gives_the_aim(aim):
    found = solved([products_of(*run) for run in equations()], 1e30, aim)
    assert found == pytest.approx([*aim, *[0.0] * (3 - len(aim))], rel=1e-9, abs=1e-25)


@pytest.mark.parametrize("aim", [[1.4, -0.4], []])
def test_velocities_that_determine_nothing_give_the_aim(aim):
    nothing = products_of(np.zeros((2, 5)), np.ones(5))
    assert solved([nothing, nothing], aim=aim) == (aim or [1.0, 0.0])


def test_products_of_a_step_are_those_of_its_velocities_and_what_they_should_be():
    random = torch.Generator().manual_seed(2)
    now, wanted, *known = (torch.randn(40, generator=random) for _ in range(4))
    loop = Loop(SCHEDULE, euler(SIGMAS), lambda n: [wanted], lambda *_: [], (0,))
    course = Course(2, [now], {1: [known[0]], 0: [known[1]]}, [((0, 1.0),), ((1, 1.0),)], [1, 0])
    (found,) = loop.products(course)
    rows = torch.stack(known).double().numpy()
    target = ((wanted.double() - now.double()) / (0.4 - 0.65)).numpy()
    assert np.array(found.a) == pytest.approx(rows @ rows.T)
    assert np.array(found.b) == pytest.approx(rows @ target)


def test_a_fit_whose_equations_ask_for_more_keeps_the_bounds_that_are_believed(monkeypatch):
    # Velocities a thousand times as small at steps 0 and 1 as between, and almost in one direction.
    other = starts(1)[0]

    def velocity(state, sigma):
        scale = 1e-3 if sigma in (1.0, 0.8) else 1.0
        return scale * (state.sign() + 1e-4 * (sigma - 0.9) * other)

    found, _ = fitted(velocity, starts(), ridge=0)
    weights.check(found.policy.weights, 5)
    (_, pairs), *_ = found.policy.weights
    assert any(weight != reuse for (_, weight), reuse in zip(pairs, (1.0, 0.0), strict=True))
    monkeypatch.setattr(weights, "confined", lambda found, *_: found)
    with pytest.raises(ValueError, match="a fit gives"):
        weights.check(fitted(velocity, starts(), ridge=0)[0].policy.weights, 5)


def test_runs_under_euler_go_by_the_weights_bit_for_bit():
    # In single precision, so that any other order of the operations shows.
    runs = [start.float() for start in starts()]
    found, _ = fitted(lambda x, sigma: torch.sin(3 * x) * sigma + x, runs)
    weights = dict(found.policy.weights)
    for start, end in zip(runs, found.ends, strict=True):
        state, known = start, {}
        for n, (now, following) in enumerate(itertools.pairwise(SIGMAS)):
            if n in SCHEDULE.full_steps:
                known[n] = velocity = torch.sin(3 * state) * now + state
            else:
                velocity = sum(weight * known[step] for step, weight in weights[n])
            state = state + (following - now) * velocity
        assert torch.equal(state, end)


def test_runs_that_are_not_fitted_to_go_along_under_the_weights_of_the_others():
    def velocity(state, sigma):
        return state**3 / (1 + state**2) * sigma

    runs = starts()
    of_two, _ = fitted(velocity, runs, fitted_on=[0, 1])
    alone, _ = fitted(velocity, runs[:2])
    assert of_two.policy == alone.policy
    for one, other in zip(of_two.ends, alone.ends, strict=False):
        assert torch.equal(one, other)
    assert len(of_two.ends) == 5


def test_a_run_that_goes_on_from_where_another_was_ends_as_one_from_the_start():
    def velocity(state, sigma):
        return torch.sin(3 * state) * sigma + state

    full, evaluated = [full_run(velocity, start) for start in starts()], []

    def velocities(n, now):
        evaluated.append(n)
        return [velocity(state, SIGMAS[n]) for state in now]

    def fitted_under(text, memory=None, fitted_on=(0, 2, 4)):
        return fit(
            Schedule.parse(text), two_step(), starts(), lambda n: [states[n] for states in full],
            velocities, fitted_on, memory=memory,
        )  # fmt: skip

    memory = PrefixMemory(1e9)
    fitted_under("0,1,3/6", memory)
    evaluated.clear()
    expected, found = fitted_under("0,1,4/6"), fitted_under("0,1,4/6", memory)
    assert evaluated == [0, 1, 4, 4]
    assert found.policy == expected.policy
    assert all(one.equal(other) for one, other in zip(found.ends, expected.ends, strict=True))
    # Weights for other examples are others from the first cached step on.
    evaluated.clear()
    fitted_under("0,1,4/6", memory, fitted_on=(1, 3))
    assert evaluated == [0, 1, 4]
