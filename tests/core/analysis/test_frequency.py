import math

import pytest

from gph_core.analysis.frequency import Frequencies
from gph_core.schedule import Schedule


def of(**runs):
    """Frequencies of schedules of 5 steps, named by their full ones: ``_01=3``."""
    return Frequencies.of(
        Schedule(tuple(map(int, name[1:])), 5) for name, count in runs.items() for _ in range(count)
    )


def test_runs_are_counted_and_put_in_order_of_frequency_then_text():
    found = of(_04=1, _013=2, _012=2, _01=3)
    assert [(str(s), count) for s, count in found.counts.items()] == [
        ("0-1/5", 3), ("0-1,3/5", 2), ("0-2/5", 2), ("0,4/5", 1),
    ]  # fmt: skip
    assert found.runs == 8


def test_shares_of_the_most_frequent():
    found = of(_01=3, _012=2, _013=2, _04=1)
    assert [found.top(r) for r in (1, 3, 10)] == [3 / 8, 7 / 8, 1]


def test_the_most_frequent_with_a_number_of_cached_steps():
    found = of(_01=3, _012=2, _013=2, _04=1)
    assert found.most_frequent() == Schedule((0, 1), 5)
    assert found.most_frequent(3) == Schedule((0, 1), 5)
    assert found.most_frequent(2) == Schedule((0, 1, 3), 5)  # its text comes first
    assert found.most_frequent(4) == Schedule((0, 1), 5)  # none has four: of all


def test_effective_count():
    assert of(_01=7).effective == 1
    assert of(_01=2, _02=2, _03=2).effective == pytest.approx(3)  # equal ones count in full
    # One half and two quarters: 1.5 bits.
    assert of(_01=2, _02=1, _03=1).effective == pytest.approx(2 * math.sqrt(2))


def test_spread_of_the_number_of_cached_steps():
    found = of(_01=3, _012=2, _013=2, _0=1)
    assert found.cached_counts == {2: 4, 3: 3, 4: 1}
    assert list(found.cached_counts) == [2, 3, 4]
    assert found.mean_cached == (2 * 4 + 3 * 3 + 4) / 8


def test_runs_of_different_step_counts_or_none_are_refused():
    with pytest.raises(ValueError, match="schedules of 5 and 6 steps cannot be counted together"):
        Frequencies.of([Schedule((0,), 6), Schedule((0,), 5)])
    with pytest.raises(ValueError, match="there are no runs to count"):
        Frequencies.of([])
