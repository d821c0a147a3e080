"""Thresholds for a wanted number of cached steps, on made step functions."""

import math
import random
from bisect import bisect_left

import pytest

from gph_core.calibration.outcome import Outcome, outcome_of
from gph_core.calibration.threshold import find_threshold

INF = math.inf


class MadeRuns:
    """Examples with given step functions; keeps what was run.

    Each is (edges, counts): counts[i] steps are cached above edges[i - 1] and up to edges[i].
    """

    def __init__(self, functions, fail_after=None):
        self.functions, self.fail_after = functions, fail_after
        self.runs = []

    def __call__(self, example, threshold):
        if len(self.runs) == self.fail_after:
            raise KeyboardInterrupt
        self.runs.append((example, threshold))
        edges, counts = self.functions[example]
        piece = bisect_left(edges, threshold)
        bounds = [-INF, *edges, INF]
        return Outcome(counts[piece], bounds[piece], bounds[piece + 1])

    def counts_at(self, threshold):
        return tuple(counts[bisect_left(edges, threshold)] for edges, counts in self.functions)

    def best_distance(self, target):
        """The nearest mean over all positive thresholds, by trying one in each piece."""
        edges = sorted({edge for edges, _ in self.functions for edge in edges})
        inside = [*edges, math.nextafter(edges[-1], INF)]
        means = [sum(self.counts_at(t)) / len(self.functions) for t in inside]
        return min(abs(mean - target) for mean in means)


def monotone(rng, most=40):
    edges = sorted(rng.uniform(0.05, 3) for _ in range(most))
    return edges, list(range(most + 1))


def jumping(rng):
    """A step function that leaves numbers out and falls back now and then."""
    edges = sorted(rng.lognormvariate(-1, 1) for _ in range(60))
    count, counts = 0, [0]
    for _ in edges:
        count = max(0, min(48, count + rng.choice([-1, 0, 1, 1, 2, 3])))
        counts.append(count)
    return edges, counts


def assert_is_as_run(found, runs):
    """The report agrees with the step functions, and nothing changes within its interval."""
    assert found.low < found.threshold <= found.high
    assert found.counts == runs.counts_at(found.threshold)
    assert found.counts == runs.counts_at(found.high)
    assert found.counts == runs.counts_at(math.nextafter(max(found.low, 0), INF))
    assert found.num_runs == len(runs.runs) == len(set(runs.runs))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("num_examples", [1, 5, 50])
@pytest.mark.parametrize("target", [0, 7, 20.5, 33, 40])
def test_the_mean_is_the_nearest_there_is_where_counts_never_fall(seed, num_examples, target):
    rng = random.Random(seed)
    runs = MadeRuns([monotone(rng) for _ in range(num_examples)])
    found = find_threshold(runs, num_examples, target)
    assert_is_as_run(found, runs)
    assert abs(found.mean - target) == pytest.approx(runs.best_distance(target), abs=1e-12)
    # The bound of what is stated: a few runs an example, whatever the target.
    assert found.num_runs <= (8 if num_examples == 50 else 28) * num_examples


@pytest.mark.parametrize("seed", range(6))
def test_counts_that_fall_in_places_still_give_a_mean_near_the_target(seed):
    rng = random.Random(seed)
    runs = MadeRuns([jumping(rng) for _ in range(50)])
    found = find_threshold(runs, 50, 29)
    assert_is_as_run(found, runs)
    assert abs(found.mean - 29) <= 0.1
    assert found.note == ""
    assert found.num_runs <= 400


def test_the_threshold_does_not_depend_on_the_guess_where_counts_never_fall():
    functions = [monotone(random.Random(seed)) for seed in range(12)]
    found = {
        find_threshold(MadeRuns(functions), 12, 20, start=start).counts
        for start in (1e-6, 0.1, 0.9, 500.0)
    }
    assert len(found) == 1


def test_the_threshold_is_the_geometric_middle_of_where_nothing_changes():
    # 1 step up to 0.2, then 2 up to 0.8 (whose run changes at 0.3, the number does not), then 5.
    runs = MadeRuns([([0.1, 0.2, 0.3, 0.8], [0, 1, 2, 2, 5])])
    found = find_threshold(runs, 1, 2)
    assert (found.low, found.high) == (0.2, 0.8)
    assert found.threshold == pytest.approx(0.4)
    assert (found.mean, found.spread, found.exact, found.note) == (2, 0, 1, "")


def test_the_report_counts_examples():
    # At thresholds in (0.5, 0.6] the counts are 4, 5, 5 and 6.
    runs = MadeRuns(
        [([0.5, 0.6], [0, 4, 9]), ([0.5, 0.6], [0, 5, 9]), ([0.5], [0, 5]), ([0.5, 0.6], [0, 6, 9])]
    )
    found = find_threshold(runs, 4, 5)
    assert found.histogram == {4: 1, 5: 2, 6: 1}
    assert (found.mean, found.exact) == (5, 0.5)
    assert found.spread == pytest.approx(math.sqrt(0.5))


def test_of_equal_means_the_one_with_more_exact_examples_wins_then_the_smaller_spread():
    # Means of 10 everywhere; three exact examples beside two far ones win over a narrow spread.
    pairs = [(9, 10), (9, 10), (10, 10), (11, 4), (11, 16)]
    exact = MadeRuns([([1.0, 1.1], [0, *pair]) for pair in pairs])
    assert find_threshold(exact, 5, 10).counts == (10, 10, 10, 4, 16)
    spread = MadeRuns([([1.0, 1.1], [0, 6, 9]), ([1.0, 1.1], [0, 14, 11])])
    assert find_threshold(spread, 2, 10).counts == (9, 11)
    same = MadeRuns([([1.0, 1.1, 1.2], [0, 9, 11, 30]), ([1.0, 1.1, 1.2], [0, 11, 9, 30])])
    assert find_threshold(same, 2, 10).counts == (9, 11)


def test_a_target_that_all_examples_jump_over_gives_the_nearest_and_says_so():
    runs = MadeRuns([([0.1, 0.4, 0.7], [0, 10, 17, 30])] * 5)
    found = find_threshold(runs, 5, 20)
    assert found.counts == (17,) * 5
    assert (found.low, found.high) == (0.4, 0.7)
    assert found.note == "the number of cached steps jumps over 20; the nearest is 17 on average"
    assert find_threshold(MadeRuns(runs.functions), 5, 25).counts == (30,) * 5


def test_targets_beyond_what_any_threshold_gives_end_at_the_nearest_in_few_runs():
    functions = [([1000.0 + i, 2000.0], [3, 4, 20]) for i in range(10)]
    runs = MadeRuns(functions)
    found = find_threshold(runs, 10, 30)
    assert found.counts == (20,) * 10
    assert found.threshold > 2000
    assert found.note == "even an infinite threshold caches only 20 on average, not 30"
    assert len(runs.runs) <= 80
    found = find_threshold(MadeRuns(functions), 10, 1)
    assert found.counts == (3,) * 10
    assert 0 < found.threshold <= 1000
    assert found.note == "even the smallest threshold caches 3 on average, not 1"


def test_a_ceiling_is_noticed_without_climbing_there():
    # An edge at every power of 2 up to 2 ** 40, half of which cache one more step.
    edges = [2.0**power for power in range(-4, 41)]
    runs = MadeRuns([(edges, [number // 2 for number in range(len(edges) + 1)])] * 10)
    assert find_threshold(runs, 10, 30).counts == (22,) * 10
    assert len(runs.runs) <= 110  # of 10 examples with 46 pieces each


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": 41, "max_cached": 40}, "41 cached steps are out of reach, at most 40 can be"),
        ({"target": -1}, "-1 cached steps are out of reach; choose another number"),
        ({"target": 3, "start": 0.0}, "from a positive guess; got 1 examples and 0"),
        ({"target": 3, "start": INF}, "from a positive guess"),
        ({"target": 3, "num_examples": 0}, "got 0 examples"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_any_run(arguments, message):
    runs = MadeRuns([monotone(random.Random(0))])
    with pytest.raises(ValueError, match=message):
        find_threshold(runs, **{"num_examples": 1, **arguments})
    assert runs.runs == []


def test_a_run_that_denies_its_own_threshold_is_an_error():
    with pytest.raises(
        RuntimeError, match=r"a run at the threshold 0.1 says that it holds above 2"
    ):
        find_threshold(lambda example, threshold: Outcome(3, 2.0, 4.0), 1, 3)


@pytest.mark.parametrize("stop", [0, 9, 150])
def test_a_cancelled_search_goes_on_without_repeating_a_run(stop):
    functions = [jumping(random.Random(seed)) for seed in range(50)]
    whole_runs = MadeRuns(functions)
    whole = find_threshold(whole_runs, 50, 29)
    assert len(whole_runs.runs) > 150
    kept = []
    first, second = MadeRuns(functions, fail_after=stop), MadeRuns(functions)
    with pytest.raises(KeyboardInterrupt):
        find_threshold(first, 50, 29, on_run=lambda *run: kept.append(run))
    assert len(kept) == stop
    assert find_threshold(second, 50, 29, earlier=kept) == whole
    assert first.runs + second.runs == whole_runs.runs


def test_runs_that_are_never_quite_the_same_do_not_keep_the_search_from_ending():
    rng = random.Random(5)
    functions = [monotone(rng) for _ in range(20)]
    made = MadeRuns(functions)

    def run(example, threshold):
        count, low, high = made(example, threshold)
        # Computed anew, the value of an edge moves by some 1e-4 of it.
        low = min(low * rng.uniform(0.9999, 1.0001), math.nextafter(threshold, 0))
        return Outcome(count, low, max(high * rng.uniform(0.9999, 1.0001), threshold))

    found = find_threshold(run, 20, 20)
    assert abs(found.mean - 20) <= 0.2
    assert found.num_runs < 500


def test_a_run_whose_signal_depends_on_its_decisions_answers_for_its_interval():
    def run(threshold, seed):
        """Each cached step leaves the state further off, which makes later changes larger."""
        rng, state, total, values, cached = random.Random(seed), 1.0, 0.0, [], set()
        for step in range(40):
            total += state * rng.uniform(0.01, 0.2)
            values.append(total)
            if 0 < step < 39 and total < threshold:
                cached.add(step)
                state *= 1.1
            else:
                total, state = 0.0, 1.0
        return outcome_of(values, cached, {0, 39})

    for seed in range(20):
        for threshold in (0.05, 0.2, 0.5, 1.0, 3.0):
            outcome = run(threshold, seed)
            assert run(outcome.high, seed) == outcome
            assert run(math.nextafter(outcome.low, INF), seed) == outcome
    found = find_threshold(lambda example, threshold: run(threshold, example), 50, 20)
    counts = [run(found.threshold, seed).num_cached for seed in range(50)]
    assert found.counts == tuple(counts)
    assert abs(sum(counts) / 50 - 20) <= 0.02  # one step of one example
