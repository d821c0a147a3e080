"""``experiments/examples`` on the toy, against an independent least squares."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from gph_core.experiments import examples as examples_module
from gph_core.experiments.examples import UnderFits, UnderPolicy
from gph_core.fitting import least_squares
from gph_core.fitting.least_squares import StepFit, Strength
from gph_core.policies.base import Site
from gph_core.policies.extrapolation import Reuse, Taylor
from gph_core.policies.fitted import Fitted
from gph_core.schedule import Schedule

from ...support.toy_runner import (
    ToyExamples,
    ToyRunner,
    examples_of,
    levels,
    metrics_of,
    run,
    velocity,
)

STEPS = 8
SIGMAS = levels(STEPS)
SCHEDULE = Schedule.parse("0-1,3,5/8")
OTHER = Schedule.parse("0-1,3,6/8")
FOUR = examples_of(0, 1, 2, 3)


@pytest.fixture(autouse=True)
def held_alike(monkeypatch):
    """Fits of a known strength, with weights for all channels: the toy's have a number each."""
    strength = Strength(1e-4, 1.0)
    monkeypatch.setattr(least_squares, "ALONE", strength)
    monkeypatch.setattr(least_squares, "best_strength", lambda *_: strength)
    monkeypatch.setattr(StepFit, "_is_simple", True)


def others_of(examples):
    """For each example all others; a single one has itself."""
    numbers = range(len(examples))
    return [[other for other in numbers if other != n] or [n] for n in numbers]


def by_least_squares(schedule, examples, groups):
    """Weights of each example by cached step, and its end, in double precision with numpy.

    At each cached step the weights of an example are those of the three newest velocities that
    bring the next states of its group, wherever each is, closest to those of their full runs, each
    in units of the root of the error that the newest velocity alone leaves; a small pull holds
    them at reuse.
    """
    full = [run(e.start.double(), SIGMAS) for e in examples]
    now, anchors, weights = [states[0] for states in full], [], {}
    for step, (sigma, following) in enumerate(itertools.pairwise(SIGMAS)):
        length = following - sigma
        if step in schedule.full_steps:
            anchors = [[velocity(x, sigma) for x in now], *anchors][:3]
            moved = anchors[0]
        else:
            equations = []
            for p, states in enumerate(full):
                wanted = (states[step + 1] - now[p]).numpy()[0] / length
                unit = np.sqrt(np.linalg.norm(wanted - anchors[0][p].numpy()[0]))
                matrix = np.concatenate([a[p].numpy() for a in anchors]).T
                equations.append((matrix / unit, wanted / unit))
            weights[step] = [_solved([equations[q] for q in group]) for group in groups]
            moved = [
                sum(float(c) * a[p] for c, a in zip(w, anchors, strict=True))
                for p, w in enumerate(weights[step])
            ]
        now = [x + length * v for x, v in zip(now, moved, strict=True)]
    return weights, now


def _solved(equations):
    rows, wanted = map(np.concatenate, zip(*equations, strict=True))
    count = rows.shape[1]
    pull = np.sqrt(1e-4 * np.square(rows).sum() / count) * np.eye(count)
    rows, wanted = np.concatenate([rows, pull]), np.concatenate([wanted, pull[0]])
    return np.linalg.lstsq(rows, wanted, rcond=None)[0]


def errors(schedule, examples, groups):
    """Latent MSE of all examples under weights that were fitted to groups of them."""
    _, ends = by_least_squares(schedule, examples, groups)
    return [
        metrics_of(end, run(e.start.double(), SIGMAS)[-1])["latent_mse"]
        for e, end in zip(examples, ends, strict=True)
    ]


def under_fits(folder, examples=FOUR, state_bytes=0.0, **options):
    runner = ToyRunner(ToyExamples(list(examples)), **options)
    found = UnderFits(runner, runner.steps(), {"cfg": 1.0}, folder, state_bytes)
    found.begin()
    return found, runner


def latent_mse(measurement):
    return [metrics["latent_mse"] for metrics in measurement.metrics]


def test_each_example_is_scored_under_weights_of_the_others(tmp_path):
    found, _ = under_fits(tmp_path)
    expected = errors(SCHEDULE, FOUR, others_of(FOUR))
    assert latent_mse(found.measure(SCHEDULE, [0, 1, 2, 3])) == pytest.approx(expected, rel=1e-3)
    # A fit looks better than it is on its own examples, so it matters who is left out.
    assert sum(errors(SCHEDULE, FOUR, [range(4)] * 4)) < 0.9 * sum(expected)


def test_a_single_example_is_scored_under_its_own_weights(tmp_path):
    found, _ = under_fits(tmp_path, FOUR[:1])
    expected = errors(SCHEDULE, FOUR[:1], [[0]])
    assert latent_mse(found.measure(SCHEDULE, [0])) == pytest.approx(expected, rel=1e-3)


def test_all_examples_make_the_weights_that_are_delivered(tmp_path):
    found, _ = under_fits(tmp_path)
    policy = found.policy_for(SCHEDULE)
    expected, _ = by_least_squares(SCHEDULE, FOUR, [range(4)] * 4)
    assert [step for step, _ in policy.weights] == list(SCHEDULE.cached_steps)
    for step, terms in policy.weights:
        own = [weight for term in terms for weight in term.weights]
        assert own == pytest.approx(expected[step][0], rel=1e-3, abs=1e-3)
    assert [term.step for term in policy.weights[-1][1]] == [5, 3, 1]  # the newest three
    assert (policy.schedule, policy.conditions, policy.examples) == (
        str(SCHEDULE), {"cfg": 1.0}, 4,
    )  # fmt: skip


def test_a_run_under_the_delivered_weights_ends_where_the_fit_did(tmp_path):
    policy = under_fits(tmp_path)[0].policy_for(SCHEDULE)
    _, ends = by_least_squares(SCHEDULE, FOUR, [range(4)] * 4)
    for example, end in zip(FOUR, ends, strict=True):
        reached = run(example.start, SIGMAS, SCHEDULE, policy)[-1]
        torch.testing.assert_close(reached.double(), end, rtol=1e-3, atol=1e-3)


def test_a_measurement_costs_the_full_steps_of_all_examples_once(tmp_path):
    found, runner = under_fits(tmp_path)
    first = found.measure(SCHEDULE, [0, 1])
    assert first.full_steps == 4 * SCHEDULE.num_full == len(runner.evaluated)
    rest = found.measure(SCHEDULE, [3, 2])
    assert rest.full_steps == 0
    assert latent_mse(rest) == latent_mse(found.measure(SCHEDULE, [2, 3]))[::-1]


def test_fits_go_on_from_the_courses_of_others_and_find_the_same(tmp_path):
    alone, _ = under_fits(tmp_path)
    shared, runner = under_fits(tmp_path, state_bytes=1e6)
    shared.measure(SCHEDULE, range(4))
    assert shared.measure(OTHER, range(4)) != alone.measure(OTHER, range(4))  # in what it costs
    assert latent_mse(shared.measure(OTHER, range(4))) == latent_mse(alone.measure(OTHER, range(4)))
    # Both begin with 0-1,3: only step 6 is evaluated anew.
    assert [step for step, _ in runner.evaluated[4 * 4 :]] == [6] * 4
    shared.forget()
    runner.evaluated.clear()
    shared.policy_for(OTHER)
    assert len(runner.evaluated) == 4 * 4


def test_courses_of_other_groups_are_not_gone_on_from(tmp_path):
    small, _ = under_fits(tmp_path, batch=1, rounding=0.01)
    expected = latent_mse(small.measure(OTHER, range(4)))
    found, runner = under_fits(tmp_path, state_bytes=1e6, batch=2, rounding=0.01)
    assert latent_mse(found.measure(SCHEDULE, range(4))) != latent_mse(
        small.measure(SCHEDULE, range(4))
    )  # groups matter here
    runner.fits = 1
    assert latent_mse(found.measure(OTHER, range(4))) == expected
    assert runner.notes == ["out of memory: examples are sampled 1 at a time"]


def test_full_runs_are_watched_once_and_their_states_outlive_the_search(tmp_path):
    found, runner = under_fits(tmp_path)
    found.measure(SCHEDULE, range(4))
    assert runner.users == {Fitted()}
    found.forget()
    assert runner.users == set()
    found.policy_for(SCHEDULE)
    assert sorted(runner.full_runs) == [0, 1, 2, 3]


def test_states_on_disk_change_nothing(tmp_path, monkeypatch):
    expected = under_fits(tmp_path)[0].policy_for(SCHEDULE)
    monkeypatch.setattr(examples_module, "STATES_IN_MEMORY", 0)
    assert under_fits(tmp_path)[0].policy_for(SCHEDULE) == expected


def test_examples_under_a_policy_are_those_of_the_runner():
    runner = ToyRunner(ToyExamples(list(FOUR)), batch=2)
    found = UnderPolicy(runner, Taylor(1, site=Site.GUIDED), 7.0)
    assert (len(found), found.batch) == (4, 2)
    found.begin()
    assert runner.users == {found.policy}
    measured = found.measure(SCHEDULE, [3, 0])
    ends = [run(FOUR[n].start, SIGMAS, SCHEDULE, found.policy)[-1] for n in (3, 0)]
    full = [run(FOUR[n].start, SIGMAS)[-1] for n in (3, 0)]
    expected = [metrics_of(*pair)["latent_mse"] for pair in zip(ends, full, strict=True)]
    assert latent_mse(measured) == pytest.approx(expected, rel=1e-5)
    assert runner.measured == [(SCHEDULE, found.policy, (3, 0), 7.0)]
    found.forget()
    assert runner.users == set()


def test_the_policy_of_a_schedule_takes_the_place_of_the_general_one():
    runner = ToyRunner(ToyExamples(list(FOUR)))
    policies = {SCHEDULE: Reuse(Site.GUIDED), OTHER: Reuse()}
    found = UnderPolicy(runner, Fitted(), policy_for=policies.__getitem__)
    found.measure(SCHEDULE, [0])
    found.measure(OTHER, [0])
    assert [policy for _, policy, *_ in runner.measured] == [Reuse(Site.GUIDED), Reuse()]


def test_the_delivered_weights_are_fitted_once_however_many_groups_ask(tmp_path):
    found, runner = under_fits(tmp_path)
    validation = UnderPolicy(ToyRunner(ToyExamples(examples_of(4, 5, 6))), Fitted())
    validation = replace(validation, policy_for=found.policy_for)
    for example in range(3):  # as a study of batches of one does
        validation.measure(SCHEDULE, [example])
    assert len(runner.evaluated) == len(FOUR) * SCHEDULE.num_full
