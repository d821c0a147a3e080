"""Outcomes of trials at a threshold, and the thresholds with the same outcome."""

import math

import pytest

from gph_core.calibration.outcome import Outcome, decided, outcome_in, outcome_of
from gph_core.run.record import RunRecord
from gph_core.schedule import Schedule


def record(values, full, cached):
    levels = tuple(1 - n / len(values) for n in range(len(values) + 1))
    return RunRecord(
        "", "", "", "", "", levels, full, cached, (), (), 0, (), gate_values=tuple(values)
    )


def test_a_step_that_something_else_made_full_counts_as_forced():
    forced = Schedule.parse("0,4/5")
    # Step 2 is below the threshold 0.5 but full; step 3 is above it.
    one = record((None, 0.25, 0.125, 0.75, 0.1), full=(0, 2, 3, 4), cached=(1,))
    assert outcome_in(one, 0.5, forced) == Outcome(1, 0.25, 0.75)


def test_thresholds_that_give_one_schedule_are_found_to_the_last_digit():
    def at(threshold):  # caches step 1 above 0.25 and step 2 above 0.5
        return Schedule((0, *(n for n, t in ((1, 0.25), (2, 0.5)) if not t < threshold), 3), 4)

    assert decided(at, 0, 0.3) == Outcome(1, 0.25, 0.5)
    assert decided(at, 0, 0.1) == Outcome(0, -math.inf, 0.25)
    assert decided(at, 0, math.inf) == Outcome(2, 0.5, math.inf)


def test_a_run_answers_for_thresholds_above_its_cached_and_up_to_its_full_values():
    # Cached at 0.2 and 0.3, full at 0.5 and 0.9.
    outcome = outcome_of([0.9, 0.2, 0.5, 0.3], {1, 3}, ())
    assert outcome == Outcome(2, 0.3, 0.5)
    assert [outcome.answers(t) for t in (0.3, 0.31, 0.5, 0.51)] == [False, True, True, False]


def test_forced_broken_and_infinite_values_set_no_bound():
    assert outcome_of([0.1, 0.2, math.nan, math.inf], {1}, {0}) == Outcome(1, 0.2, math.inf)
    assert outcome_of([0.1, 0.2], (), {0}) == Outcome(0, -math.inf, 0.2)
    assert outcome_of([0.1], (), {0}) == Outcome(0, -math.inf, math.inf)


def test_decisions_that_no_threshold_gives_are_refused():
    with pytest.raises(ValueError, match=r"a cached step has the value 0.2 and a full one 0.1"):
        outcome_of([0.1, 0.2], {1}, ())
