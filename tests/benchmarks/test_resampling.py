"""Bootstrap intervals against enumeration and the normal approximation."""

import itertools

import numpy as np
import pytest
from scipy.stats import bootstrap

from benchmarks.lab.resampling import bootstrapped, paired_difference


def test_an_interval_of_equal_values_is_their_value():
    assert bootstrapped(np.full(50, 2.5)) == (2.5, 2.5, 2.5)


def test_an_interval_of_few_values_is_that_of_all_their_resamples():
    # All 5^5 resamples are equally likely.
    values = [0.0, 1.0, 4.0, 9.0, 16.0]
    means = sorted(sum(drawn) / 5 for drawn in itertools.product(values, repeat=5))
    found = bootstrapped(values)
    assert found.mean == 6
    assert found.low == pytest.approx(np.percentile(means, 2.5), abs=0.21)  # of steps of 0.2
    assert found.high == pytest.approx(np.percentile(means, 97.5), abs=0.21)


@pytest.mark.parametrize("count", [30, pytest.param(4000, marks=pytest.mark.long)])
def test_an_interval_is_the_one_of_scipy(count):
    values = np.random.default_rng(4).normal(size=count)
    found = bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(0)
    )
    assert tuple(bootstrapped(values))[1:] == pytest.approx(tuple(found.confidence_interval))


def test_an_interval_of_many_values_is_near_the_normal_one():
    values = np.random.default_rng(0).normal(1.0, 2.0, 400)
    found = bootstrapped(values)
    half = 1.96 * values.std(ddof=1) / 20
    assert found.mean == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - half, abs=0.02)
    assert found.high == pytest.approx(values.mean() + half, abs=0.02)


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(1).normal(size=30)
    assert bootstrapped(values) == bootstrapped(values)
    assert bootstrapped(values) != bootstrapped(values, seed=1)


def test_resampling_prompts_keeps_the_runs_of_each_together():
    # Runs of a prompt are equal, so three of each tell no more than one: by prompt the interval
    # is that of the prompts, by run it is narrower by the root of three.
    prompts = np.random.default_rng(2).normal(size=200)
    runs = np.repeat(prompts[:, None], 3, axis=1)
    by_prompt, by_run = bootstrapped(runs), bootstrapped(runs, by="run")
    assert by_prompt == pytest.approx(bootstrapped(prompts))
    assert by_prompt.mean == pytest.approx(by_run.mean)
    widths = [found.high - found.low for found in (by_prompt, by_run)]
    assert widths[0] / widths[1] == pytest.approx(np.sqrt(3), rel=0.05)


def test_a_constant_lead_is_certain_however_much_prompts_differ():
    values = np.random.default_rng(3).normal(20.0, 5.0, (40, 2))
    found = paired_difference(values + 0.25, values)
    assert found == pytest.approx((0.25, 0.25, 0.25))


def test_what_cannot_be_paired_or_resampled_is_refused():
    with pytest.raises(ValueError, match=r"arrays of \(3,\) and \(4,\)"):
        paired_difference(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match="two or more prompts, got 1"):
        bootstrapped([[1.0, 2.0, 3.0]])
