"""Least squares of one step, against numpy in double precision, run by run."""

import itertools

import numpy as np
import pytest
import torch

from gph_core.fitting.least_squares import (
    ALONE,
    NOTHING,
    PULLS,
    SHARES,
    Products,
    StepFit,
    Strength,
    best_strength,
)

AIM = [1.2, -0.2]  # of the guided velocities of two full steps


def products_of(run):
    """Products of velocities ``[C, k, size]`` and what they should add up to, ``[C, size]``."""
    rows, target = run
    return Products(
        torch.tensor(rows @ rows.transpose(0, 2, 1)),
        torch.tensor(np.einsum("cks,cs->ck", rows, target)),
        float(np.square(target - rows[:, 0]).sum()),
    )


def fits_of(runs, aim=AIM):
    return StepFit.of([products_of(run) for run in runs], aim)


def alike(runs):
    """The guided velocities of each run, with all channels in a row, as if they were one."""
    return [
        (np.concatenate([*rows[:, : len(AIM)]], 1)[None], target.reshape(1, -1))
        for rows, target in runs
    ]


def scaled(runs):
    """Runs whose squared errors count by the root of that of the newest velocity alone."""
    found = []
    for rows, target in runs:
        factor = np.square(target - rows[:, 0]).sum() ** -0.25
        found.append((rows * factor, target * factor))
    return found


def held(runs, aims, pull):
    """Weights ``[C, k]`` that least squares give, with rows that ask for those of the aims."""
    found = []
    for channel, aim in enumerate(aims):
        matrix = np.concatenate([rows[channel].T for rows, _ in runs])
        wanted = np.concatenate([target[channel] for _, target in runs])
        ridge = np.sqrt(pull * np.square(matrix).sum() / len(aim)) * np.eye(len(aim))
        rows, asked = np.concatenate([matrix, ridge]), np.concatenate([wanted, ridge @ aim])
        found.append(np.linalg.lstsq(rows, asked, rcond=None)[0])
    return np.array(found)


def left_out(runs):
    """Each run, and the others."""
    return [(run, [other for n, other in enumerate(runs) if n != out])
            for out, run in enumerate(runs)]  # fmt: skip


def strength_of(runs, aims_from):
    """The strength with the least error of all runs under weights of the others."""
    errors = dict.fromkeys(itertools.product(PULLS, SHARES), 0.0)
    for pull in PULLS:
        for (rows, target), others in left_out(runs):
            aims = aims_from(others)
            change = held(others, aims, pull) - aims
            for share in SHARES:
                made = np.einsum("ck,cks->cs", aims + share * change, rows)
                errors[pull, share] += np.square(made - target).sum()
    return Strength(*min(errors, key=errors.get))


def in_two_stages(runs, some):
    """Both strengths, and the weights of some of the runs ``[k, C]``."""
    runs, channels = scaled(runs), len(runs[0][0])
    common = strength_of(alike(runs), lambda _: np.array([AIM]))

    def simple(runs):
        aims = np.array([AIM])
        (weights,) = aims + common.share * (held(alike(runs), aims, common.pull) - aims)
        return np.array([[*weights, *[0.0] * (runs[0][0].shape[1] - len(AIM))]] * channels)

    own = strength_of(runs, simple)
    chosen = [runs[run] for run in some]
    weights = simple(chosen)
    return common, own, (weights + own.share * (held(chosen, weights, own.pull) - weights)).T


def noisy(seed, noise, count=3, size=9, channels=2):
    """Runs whose velocities, of which the third is the second prompt's, are much alike."""
    random, found = np.random.default_rng(seed), []
    true = np.array([[1.4, -0.3, 0.2], [1.0, -0.4, -0.2]])[:channels]
    for run in range(count):
        rows = random.normal(size=(channels, 3, size)) + random.normal(size=(channels, 1, size))
        target = np.einsum("ck,cks->cs", true, rows)
        found.append((rows, target + noise * (1 + 3 * run) * random.normal(size=target.shape)))
    return found


@pytest.mark.parametrize("some", [[0, 1, 2], [2, 0]])
def test_both_stages_are_those_of_refitting_run_by_run(some):
    runs = noisy(seed=56, noise=0.5)
    common, own, weights = in_two_stages(runs, some)
    found = fits_of(runs)
    assert (found.common, found.own) == (common, own)
    # So that the case can tell: no end of the ranges.
    assert 0 < common.share < 1
    assert 0 < own.share < 1
    assert PULLS[0] < own.pull < PULLS[-1]
    assert found.weights(some).numpy() == pytest.approx(weights, rel=1e-6)
    # Squared errors as they are would let the run that goes wrong rule.
    as_they_are = StepFit.of([run._replace(error=1.0) for run in map(products_of, runs)], AIM)
    assert as_they_are.weights(some).numpy() != pytest.approx(weights, rel=0.02)


def test_a_single_run_leaves_the_second_stage_out():
    runs = noisy(seed=1, noise=0.3, count=1)
    found = fits_of(runs)
    assert (found.common, found.own) == (ALONE, NOTHING)
    assert found.weights([0]).shape == (2, 1)  # guided, for all channels
    expected = held(alike(runs), np.array([AIM]), ALONE.pull)  # whose share is 1
    assert found.weights([0]).numpy() == pytest.approx(expected.T, rel=1e-6)


def test_without_a_share_of_the_second_stage_weights_are_of_guided_velocities_for_all_channels():
    found = fits_of(noisy(seed=33, noise=0.2))
    simple = found._replace(own=found.own._replace(share=0.0)).weights([0, 1, 2])
    assert simple.shape == (2, 1)
    assert found.weights([0, 1, 2]).shape == (3, 2)
    # They are what the second stage goes away from.
    held_there = found._replace(own=Strength(1e30, 1.0)).weights([0, 1, 2])
    assert held_there[:2].numpy() == pytest.approx(simple.expand(2, 2).numpy(), rel=1e-9)
    assert held_there[2].numpy() == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_without_channels_and_a_second_prompt_there_is_one_stage(count):
    runs = [(rows[:, :2], target) for rows, target in noisy(3, 0.3, count, channels=1)]
    found = fits_of(runs)
    assert found.own == NOTHING
    assert found.weights(range(count)).shape == (2, 1)


def test_units_of_the_data_do_not_matter():
    """Nor does a factor that all runs have, such as the length of a step."""
    runs = noisy(seed=33, noise=0.2)
    expected = fits_of(runs)
    for factor in (1e-3, 7.0, 1e4):
        found = fits_of([(factor * rows, factor * target) for rows, target in runs])
        assert (found.common, found.own) == (expected.common, expected.own)
        assert found.weights([0, 1]).numpy() == pytest.approx(expected.weights([0, 1]).numpy())


def test_a_run_counts_by_its_error_not_by_its_square():
    """One that is nine times as large counts like nine that are alike, not like eighty-one."""
    runs = noisy(seed=33, noise=0.2)
    larger = fits_of([(9 * runs[0][0], 9 * runs[0][1]), *runs[1:]])
    a, b, error = products_of(runs[0])
    repeated = StepFit.of(
        [Products(9 * a, 9 * b, error), *map(products_of, runs[1:])], AIM
    )  # fmt: skip
    assert (larger.common, larger.own) == (repeated.common, repeated.own)
    some = [0, 1, 2]
    assert larger.weights(some).numpy() == pytest.approx(repeated.weights(some).numpy())
    assert larger.weights(some).numpy() != pytest.approx(fits_of(runs).weights(some).numpy())


def test_a_run_without_an_error_counts_a_thousand_times_as_much_as_the_worst_at_most():
    runs = noisy(seed=33, noise=0.2)
    rows = runs[0][0]
    perfect = products_of((rows, rows[:, 0]))
    assert perfect.error == 0
    others = [products_of(run) for run in runs[1:]]
    worst = max(run.error for run in others)
    found = StepFit.of([perfect, *others], AIM)
    expected = StepFit.of([perfect._replace(error=1e-6 * worst), *others], AIM)
    assert found.weights([0, 1, 2]).isfinite().all()
    assert torch.equal(found.weights([0, 1, 2]), expected.weights([0, 1, 2]))


def test_runs_without_an_error_say_that_the_newest_velocity_is_all():
    runs = [(rows, rows[:, 0]) for rows, _ in noisy(seed=2, noise=0.0)]
    found = fits_of(runs).weights([0, 1, 2]).numpy()
    assert found[0] == pytest.approx(1.0, abs=1e-5)
    assert found[1:] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_velocities_that_determine_nothing_give_the_aim(count, value):
    runs = [(np.full((2, 3, 5), value), np.ones((2, 5)))] * count
    found = fits_of(runs).weights(range(count)).numpy()
    assert found[:2] == pytest.approx(np.array(AIM)[:, None].repeat(found.shape[1], 1))
    assert found[2:] == pytest.approx(0.0)


def test_what_no_run_says_of_a_channel_is_that_of_all_channels():
    # The velocities of the second channel are zero, so it has weights of the others alone.
    runs = [(rows * np.array([1, 0])[:, None, None], target * np.array([1, 0])[:, None])
            for rows, target in noisy(seed=33, noise=0.05)]  # fmt: skip
    found = fits_of(runs)._replace(own=Strength(1e-3, 1.0))
    simple = found._replace(own=NOTHING).weights([0, 1, 2])
    weights = found.weights([0, 1, 2])
    assert weights[:2, 1].numpy() == pytest.approx(simple[:, 0].numpy())
    assert weights[2, 1] == 0
    assert weights[:2, 0].numpy() != pytest.approx(simple[:, 0].numpy(), rel=1e-3)


def orthogonal(*targets):
    """Runs of two channels and two orthogonal velocities, with weights that suit each exactly."""
    rows = np.stack([np.eye(2, 8), np.eye(2, 8, 4)])
    return [(rows, np.einsum("ck,cks->cs", np.array(own), rows)) for own in targets]


def test_two_runs_whose_channels_disagree_are_held_at_the_simple_weights():
    # All channels together agree on 1.3 and -0.4. What is one channel's of one run is the other's
    # of the other run, so each would be wrong for the other.
    one, other = [1.5, -0.7], [1.1, -0.1]
    found = fits_of(orthogonal((one, other), (other, one)))
    assert found.common == Strength(PULLS[0], 1.0)
    assert found.own.share == 0
    for some in ([0, 1], [0], [1]):
        assert found.weights(some).numpy() == pytest.approx(np.array([[1.3], [-0.4]]), abs=1e-5)


def test_two_runs_whose_channels_agree_get_weights_of_their_own():
    one, other = [1.5, -0.7], [1.1, -0.1]
    found = fits_of(orthogonal((one, other), (one, other)))
    assert found.own.share == 1
    assert found.weights([0, 1]).numpy() == pytest.approx(np.array([one, other]).T, abs=1e-5)


def test_runs_that_say_nothing_of_each_other_are_held_at_the_aim():
    # What one run says is wrong for the other, in both channels.
    a, b = [1.2, 0.8], [1.2, -1.2]
    found = fits_of(orthogonal((a, a), (b, b)))
    assert (found.common.share, found.own.share) == (0, 0)
    assert found.weights([0]).numpy() == pytest.approx(np.array(AIM)[:, None])


@pytest.mark.parametrize("aim", [[0.9, 0.3], [1.0, 0.0]])
def test_a_strong_pull_gives_the_aim(aim):
    products = [products_of(run) for run in noisy(seed=4, noise=0.5)]
    found = StepFit.of(products, aim)._replace(common=Strength(1e30, 1.0), own=NOTHING)
    assert found.weights([0, 1, 2]).flatten().tolist() == pytest.approx(aim, rel=1e-9, abs=1e-25)


def test_without_a_pull_weights_solve_the_equations_of_all_runs():
    runs = noisy(seed=6, noise=0.5)
    found = fits_of(runs)._replace(common=Strength(0.0, 1.0), own=Strength(0.0, 1.0))
    for channel in range(2):
        matrix = np.concatenate([rows[channel].T for rows, _ in scaled(runs)])
        wanted = np.concatenate([target[channel] for _, target in scaled(runs)])
        expected = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
        assert found.weights([0, 1, 2])[:, channel].numpy() == pytest.approx(expected, rel=1e-6)


def test_the_aim_of_a_strength_may_be_the_same_for_all_runs():
    runs, aim = noisy(seed=33, noise=0.2), np.array([[1.1, 0.1, 0.3], [0.8, -0.1, 0.0]])
    a, b, _ = zip(*map(products_of, runs), strict=True)
    found = best_strength(torch.stack(a), torch.stack(b), torch.tensor(aim))
    assert found == strength_of(runs, lambda _: aim)
