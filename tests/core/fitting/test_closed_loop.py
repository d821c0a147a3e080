"""Fits in a closed loop, against numpy and runs written out."""

import itertools
import json
import weakref

import numpy as np
import pytest
import torch

from gph_core.fitting import least_squares
from gph_core.fitting.closed_loop import Course, Loop, fit
from gph_core.fitting.least_squares import Strength
from gph_core.fitting.steps import Steps, euler
from gph_core.policies import weights
from gph_core.policies.as_json import policy_from_json, policy_to_json
from gph_core.policies.base import Anchor, Now
from gph_core.policies.weights import GUIDED, MOST_TERMS, SECOND, Term
from gph_core.schedule import Schedule

SIGMAS = [1.0, 0.8, 0.65, 0.4, 0.3, 0.1, 0.0]
SCHEDULE = Schedule.parse("0,1,3/6")


@pytest.fixture
def held(monkeypatch):
    """Fits that are held at their aims with a strength that does not follow from the runs."""

    def hold(pull, share=1.0):
        monkeypatch.setattr(least_squares, "best_strength", lambda *_: Strength(pull, share))

    return hold


def full_run(velocity, start):
    """States of Euler's method, written out."""
    states = [start]
    for now, following in itertools.pairwise(SIGMAS):
        states.append(states[-1] + (following - now) * velocity(states[-1], now))
    return states


def starts(count=5, channels=2, size=20):
    random = torch.Generator().manual_seed(0)
    shape = (1, channels, size)
    return [torch.randn(shape, generator=random, dtype=torch.float64) for _ in range(count)]


def fitted(velocity, runs, second=None, **options):
    """A fit and full runs; ``second`` is the velocity of another prompt."""
    full = [full_run(velocity, start) for start in runs]
    prompts = [velocity] if second is None else [velocity, second]
    found = fit(
        SCHEDULE, euler(SIGMAS), lambda n: [states[n] for states in full],
        lambda n, now: [torch.cat([of(state, SIGMAS[n]) for of in prompts]) for state in now],
        **options,
    )  # fmt: skip
    return found, full


def test_runs_whose_velocity_is_linear_in_the_noise_level_end_where_the_full_ones_do():
    # v = a + b σ with vectors a, b is a combination of any two velocities, at any step.
    a, b = starts(2)
    found, full = fitted(lambda _, sigma: a + sigma * b, starts())
    for end, states in zip(found.ends, full, strict=True):
        torch.testing.assert_close(end, states[-1], rtol=1e-4, atol=1e-4)


def two_step():
    """Steps that go by half of the velocity before, too."""
    lengths = [following - now for now, following in itertools.pairwise(SIGMAS)]
    first, *others = lengths
    moves = [((n, 1.5 * h), (n - 1, -0.5 * h)) for n, h in enumerate(others, 1)]
    return Steps((((0, first),), *moves), 0.0)


def test_a_sampler_of_two_steps_aims_at_its_next_state_with_what_it_adds_of_the_step_before(held):
    def velocity(state, sigma):
        return torch.sin(3 * state) * sigma + state

    def run(start):
        states, known = [start], []
        for n, (now, following) in enumerate(itertools.pairwise(SIGMAS)):
            known.append(velocity(states[-1], now))
            mixed = 1.5 * known[n] - 0.5 * known[n - 1] if n else known[n]
            states.append(states[-1] + (following - now) * mixed)
        return states, known

    held(0.0)
    full = [run(start) for start in starts()]
    found = fit(
        SCHEDULE, two_step(), lambda n: [states[n] for states, _ in full],
        lambda n, now: [velocity(state, SIGMAS[n]) for state in now],
    )  # fmt: skip
    # Step 2 is the first cached one, so the runs are the full ones up to it.
    length, rows, targets = SIGMAS[3] - SIGMAS[2], [], []
    for states, known in full:
        target = (states[3] - states[2] + 0.5 * length * known[1]) / (1.5 * length)
        scale = (target - known[1]).norm() ** -0.5  # of the squared error its root remains
        rows.append(scale * torch.stack([known[1], known[0]], -1)[0])
        targets.append(scale * target[0])
    (step, terms), *_ = found.policy.weights
    assert (step, [term.step for term in terms]) == (2, [1, 0])
    for channel in range(2):
        matrix, wanted = (torch.cat([part[channel] for part in of]) for of in (rows, targets))
        expected = np.linalg.lstsq(matrix.numpy(), wanted.numpy(), rcond=None)[0]
        assert [t.weights[channel] for t in terms] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("steps", [euler(SIGMAS), two_step()])
def test_velocities_are_dropped_when_no_step_needs_them(steps, monkeypatch):
    alive, counts = weakref.WeakSet(), []

    class Velocity(torch.Tensor):
        __hash__ = object.__hash__

    def velocities(n, now):
        found = [(state + n).as_subclass(Velocity) for state in now]
        alive.update(found)
        counts.append(len(alive) // len(found))
        return found

    monkeypatch.setitem(MOST_TERMS, GUIDED, 1)
    fit(Schedule.all_full(6), steps, lambda n: starts(), velocities)
    assert counts == [1, 2, 2, 2, 2, 2]  # the newest, and the one before


def test_a_strong_pull_is_velocity_reuse_bit_for_bit(held):
    held(1e30)
    found, _ = fitted(lambda x, sigma: torch.sin(x) + sigma, starts())
    assert all(terms[0].weights == (1, 1) for _, terms in found.policy.weights)
    anchors = [Anchor(n, SIGMAS[n], (torch.randn(1, 2, 4),)) for n in (3, 1, 0)]
    predicted = found.policy.predict(anchors, Now(4, SIGMAS[4], SIGMAS[5]))
    assert torch.equal(predicted[0], anchors[0].feature[0])


def test_products_of_a_step_are_those_of_its_velocities_and_what_they_should_be(monkeypatch):
    random = torch.Generator().manual_seed(2)
    now, wanted = (torch.randn(1, 3, 5, 4, generator=random) for _ in range(2))
    newest, oldest = (torch.randn(2, 3, 5, 4, generator=random) for _ in range(2))
    loop = Loop(SCHEDULE, euler(SIGMAS), lambda n: [wanted], lambda *_: [])
    made = [(Term(0, (1.0,)),), (Term(1, (1.0,)),)]
    course = Course(2, [now], {1: [newest], 0: [oldest]}, made, [1, 0])
    (found,) = loop.products(course)
    # Of each channel, guided ones first; numbers of a latent in any order.
    known = torch.stack([newest[0], oldest[0], newest[1], oldest[1]], 1).flatten(2)
    rows = known.double().numpy()
    target = ((wanted.double() - now.double()) / (0.4 - 0.65))[0].flatten(1).numpy()
    assert found.a.numpy() == pytest.approx(rows @ rows.transpose(0, 2, 1))
    assert found.b.numpy() == pytest.approx(np.einsum("cks,cs->ck", rows, target))
    assert found.error == pytest.approx(np.square(target - rows[:, 0]).sum())
    # In parts of seven numbers a channel.
    monkeypatch.setattr("gph_core.fitting.closed_loop._COLUMNS", 3 * 7)
    (again,) = loop.products(course)
    torch.testing.assert_close(again.a, found.a)
    torch.testing.assert_close(again.b, found.b)
    assert again.error == pytest.approx(found.error)


# --- two prompts, and channels --------------------------------------------------------------------

OF_ONE_STEP = Schedule.parse("0/6")


def spanned(count=3, channels=3):
    """Runs of which both velocities lie in one plane, in another way at each level and channel.

    So each guided velocity is a sum of both velocities of any one full step, with weights of its
    own for each channel, which are the same in all runs.
    """
    axes = torch.randn(count, 2, channels, 4, 5, generator=torch.Generator().manual_seed(3))
    turn = torch.arange(channels).view(-1, 1, 1)

    def of(run, sigma):
        p, q = axes[run].double()
        guided = (1 + turn * sigma) * p + (sigma - 0.3 * turn) * q
        second = (0.5 - sigma * turn) * p + 0.8 * (1 + turn) * q
        return torch.stack([guided, second])

    return of


def fitted_to(of, count=3, prompts=(2, 2, 2), schedule=OF_ONE_STEP, channels=3, steps=None):
    """A fit to runs whose velocities depend on their number and the noise level alone."""
    full, steps = [], steps or euler(SIGMAS)
    for run, start in enumerate(starts(count, channels)):
        states, known = [start.view(1, channels, 4, 5)], []
        for sigma, moves in zip(SIGMAS, steps.moves, strict=False):
            known.append(of(run, sigma)[:1])
            states.append(states[-1] + sum(length * known[n] for n, length in moves))
        full.append(states)
    found = fit(
        schedule, steps, lambda n: [states[n] for states in full],
        lambda n, now: [of(run, SIGMAS[n])[: prompts[run]] for run in range(count)],
    )  # fmt: skip
    return found, [states[-1] for states in full]


def streams_of(policy):
    return {term.stream for _, terms in policy.weights for term in terms}


@pytest.mark.parametrize("steps", [euler(SIGMAS), two_step()], ids=["Euler", "two steps"])
def test_what_both_prompts_give_channel_by_channel_is_found(steps):
    found, ends = fitted_to(spanned(), steps=steps)
    for end, expected in zip(found.ends, ends, strict=True):
        torch.testing.assert_close(end, expected, rtol=1e-3, atol=1e-3)
    # By hand, step 1 of channel 1: σ = 0.8 of velocities at σ = 1. Guided 1.8 p + 0.5 q is a sum of
    # 2 p + 0.7 q and -0.5 p + 1.6 q, by Cramer's rule over 2 · 1.6 + 0.5 · 0.7 = 3.55.
    (step, (guided, second)), *_ = found.policy.weights
    assert (step, guided.step, guided.stream) == (1, 0, GUIDED)
    assert (second.step, second.stream) == (0, SECOND)
    assert guided.weights[1] == pytest.approx((1.8 * 1.6 + 0.5 * 0.5) / 3.55, rel=1e-3)
    assert second.weights[1] == pytest.approx((2 * 0.5 - 0.7 * 1.8) / 3.55, rel=1e-3)
    # The guided velocities alone would not do.
    alone, _ = fitted_to(spanned(), prompts=(1, 1, 1), steps=steps)
    assert max(float((a - b).abs().max()) for a, b in zip(alone.ends, ends, strict=True)) > 0.1


def test_newest_velocities_are_three_guided_and_two_of_the_second_prompt():
    found, _ = fitted_to(spanned(), schedule=Schedule.parse("0-4/6"))
    ((step, terms),) = found.policy.weights
    assert (step, [(term.step, term.stream) for term in terms]) == (
        5, [(4, GUIDED), (3, GUIDED), (2, GUIDED), (4, SECOND), (3, SECOND)],
    )  # fmt: skip


@pytest.mark.parametrize("prompts", [(1, 2, 2), (2, 2, 1)])
def test_a_second_prompt_that_not_all_runs_have_gets_no_weight(prompts):
    found, _ = fitted_to(spanned(), prompts=prompts)
    alone, _ = fitted_to(spanned(), prompts=(1, 1, 1))
    assert streams_of(found.policy) == {GUIDED}
    assert found.policy == alone.policy
    for end, expected in zip(found.ends, alone.ends, strict=True):
        assert torch.equal(end, expected)


def test_weights_of_a_fit_are_believed_and_survive_a_file():
    found, _ = fitted(
        lambda x, sigma: torch.sin(3 * x) * sigma + x, starts(),
        second=lambda x, sigma: torch.cos(2 * x) - sigma,
    )  # fmt: skip
    assert streams_of(found.policy) == {GUIDED, SECOND}
    weights.check(found.policy.weights, 6)
    data = json.loads(json.dumps(policy_to_json(found.policy)))
    assert policy_from_json(data) == found.policy


def test_two_runs_whose_channels_disagree_are_held_at_the_simple_weights():
    """What the one needs of a channel is wrong for the other; together they need the same."""
    axes = torch.linalg.qr(torch.randn(20, 4, generator=torch.Generator().manual_seed(4)))[0]
    p, q = axes.T.double()[:2].view(2, 4, 5)

    def of(run, sigma):
        signs = torch.tensor([1.0, -1.0]).view(2, 1, 1) * (1 - 2 * run)
        off = 0.5 * signs * (SIGMAS.index(sigma) % 3 > 0)  # at steps that are cached
        return ((1.0 - off) * p + (1 + off) * q)[None]

    found, _ = fitted_to(of, 2, (1, 1), channels=2)
    assert {len(term.weights) for _, terms in found.policy.weights for term in terms} == {1}


# --- runs -----------------------------------------------------------------------------------------


def test_a_fit_whose_equations_ask_for_more_keeps_the_bounds_that_are_believed(monkeypatch, held):
    # Velocities a thousand times as small at steps 0 and 1 as between, and almost in one direction.
    other = starts(1)[0]

    def velocity(state, sigma):
        scale = 1e-3 if sigma in (1.0, 0.8) else 1.0
        return scale * (state.sign() + 1e-4 * (sigma - 0.9) * other)

    held(0.0)
    found, _ = fitted(velocity, starts())
    weights.check(found.policy.weights, 5)
    (_, (newest, older)), *_ = found.policy.weights
    assert newest.weights != (1.0, 1.0)
    assert older.weights != (0.0, 0.0)
    monkeypatch.setattr(weights, "confined", lambda found, *_: found)
    with pytest.raises(ValueError, match="a fit gives"):
        weights.check(fitted(velocity, starts())[0].policy.weights, 5)


@pytest.mark.parametrize("prompts", [1, 2])
def test_runs_under_euler_go_by_the_weights_bit_for_bit(prompts):
    # In single precision, so that any other order of the operations shows.
    def velocity(x, sigma):
        return torch.sin(3 * x) * sigma + x

    def second(x, sigma):
        return torch.cos(2 * x) - sigma

    runs = [start.float() for start in starts()]
    found, _ = fitted(velocity, runs, second if prompts == 2 else None)
    assert len(streams_of(found.policy)) == prompts
    of_step = dict(found.policy.weights)
    for start, end in zip(runs, found.ends, strict=True):
        state, known = start, {}
        for n, (now, following) in enumerate(itertools.pairwise(SIGMAS)):
            if n in SCHEDULE.full_steps:
                known[n, GUIDED], known[n, SECOND] = velocity(state, now), second(state, now)
                moved = known[n, GUIDED]
            else:
                moved = sum(
                    torch.tensor(term.weights).view(1, -1, 1) * known[term.step, term.stream]
                    for term in of_step[n]
                )
            state = state + (following - now) * moved
        assert torch.equal(state, end)
