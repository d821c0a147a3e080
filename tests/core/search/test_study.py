import itertools
import math
import types

import pytest

from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search import study as study_module
from gph_core.search.budget import Budget
from gph_core.search.judge import Race
from gph_core.search.proposals import END_OF_UNIT, Proposal, Score
from gph_core.search.study import MOST_REPEATS, Study

from ...support.made_examples import MadeExamples

SPACE = ScheduleSpace(10, 4)  # 126 schedules of six full steps
A, B, C = itertools.islice(SPACE, 3)


def steps_sum(schedule, example):
    return float(sum(schedule.full_steps) + example)


def asks(*proposals):
    """A search that proposes these; a schedule alone has no rival."""
    for asked in proposals:
        yield Proposal(asked) if isinstance(asked, Schedule) else asked


def test_the_budget_of_full_steps_ends_the_study_once_it_is_reached():
    # Six full steps on four examples: 24, 48, 72, 96, 120.
    study = Study(MadeExamples(steps_sum), budget=Budget(full_steps=100))
    assert study.run(asks(*SPACE)) == "the budget is used up"
    assert (len(study.scores), study.full_steps) == (5, 120)
    exact = Study(MadeExamples(steps_sum), budget=Budget(full_steps=96))
    exact.run(asks(*SPACE))
    assert len(exact.scores) == 4


def test_the_budget_of_seconds_ends_the_study_once_it_is_reached(monkeypatch):
    now = iter(range(0, 1000, 10))
    clock = types.SimpleNamespace(perf_counter=lambda: next(now))
    monkeypatch.setattr(study_module, "time", clock)
    # The clock is read before and after each measurement: 10 s each, and nothing between counts.
    study = Study(MadeExamples(steps_sum), budget=Budget(seconds=25))
    assert study.run(asks(*SPACE)) == "the budget is used up"
    assert (len(study.scores), study.seconds) == (3, 30)


def test_whatever_is_reached_first_ends_the_study():
    budget = Budget(evaluations=10, full_steps=50, seconds=1e9)
    study = Study(MadeExamples(steps_sum), budget=budget)
    study.run(asks(*SPACE))
    assert len(study.scores) == 3
    assert study.used == 72 / 50


def test_a_repeated_proposal_is_answered_from_memory():
    examples = MadeExamples(steps_sum)
    study = Study(examples, budget=Budget(evaluations=2))
    assert study.run(asks(A, B, A, A, B)) == "the search is complete"
    assert [schedule for schedule, _ in examples.measured] == [A, B]


def test_the_score_holds_the_objective_of_each_example_in_order():
    study = Study(MadeExamples(steps_sum, count=3))
    study.run(asks(A))
    total = sum(A.full_steps)
    assert study.scores[A] == Score((total, total + 1.0, total + 2.0))
    assert study.metrics(A) == [{"psnr": total + n} for n in (0.0, 1.0, 2.0)]


def test_the_best_is_the_earliest_of_equal_ones():
    study = Study(MadeExamples(lambda *_: 1.0))
    assert study.best is None
    study.run(asks(B, A, C))
    assert study.best == B


def test_each_schedule_is_reported_once():
    reported = []
    study = Study(MadeExamples(steps_sum), on_score=lambda *news: reported.append(news))
    study.run(asks(A, B, A))
    assert reported == [(A, study.scores[A]), (B, study.scores[B])]


def test_a_search_that_only_repeats_itself_ends():
    asked = []

    def stubborn():
        while True:
            asked.append(A)
            yield Proposal(A)

    study = Study(MadeExamples(steps_sum))
    assert study.run(stubborn()) == f"the last {MOST_REPEATS} proposals were all known"
    assert len(asked) == 1 + MOST_REPEATS


STALLED = "two rounds in a row brought no clear gain; use another seed or algorithm to continue"


def one_a_unit(schedules):
    for schedule in schedules:
        yield Proposal(schedule)
        yield END_OF_UNIT


def units(*means):
    """Two examples, one off by 1 either way, and a search whose units bring these means.

    The deviation is the root of 2, the standard error 1: less than 2 is no clear gain.
    """
    schedules = dict(zip(SPACE, means, strict=False))
    examples = MadeExamples(lambda schedule, example: schedules[schedule] + (-1, 1)[example], 2)
    return examples, one_a_unit(schedules)


@pytest.mark.parametrize(
    ("means", "scored"),
    [
        ((10, 11.9, 13.8, 99), 3),  # the first unit has nothing to be compared with
        ((10, 12, 14, 16), 4),  # twice the standard error is enough
        ((10, 11, 14, 15, 16, 99), 5),  # two in a row
        ((10, 9, 8, 99), 3),  # worse ones leave the best as it is
    ],
)
def test_two_units_without_a_clear_gain_end_the_study(means, scored):
    examples, search = units(*means)
    study = Study(examples)
    reason = study.run(search)
    assert len(study.scores) == scored
    assert reason == (STALLED if scored < len(means) else "the search is complete")


def test_what_was_scored_before_the_search_is_its_first_baseline():
    examples, search = units(10, 11, 11, 99)
    study = Study(examples)
    study.score(next(search))
    search.send(None)
    assert study.run(search) == STALLED
    assert len(study.scores) == 3


def test_the_error_is_that_of_the_best_schedule_then():
    # The second schedule gains 3, but its two values are 4 apart: standard error 2, 3 < 4.
    values = dict(zip(SPACE, [(9, 11), (11, 15), (11, 15), (99, 99)], strict=False))
    examples = MadeExamples(lambda schedule, example: values[schedule][example], 2)
    study = Study(examples)
    study.run(one_a_unit(values))
    assert len(study.scores) == 3


def test_a_single_example_has_no_standard_error_to_stop_by():
    study = Study(MadeExamples(lambda *_: 1.0, count=1))
    assert study.run(one_a_unit([A, B, C])) == "the search is complete"
    assert study.scores[A].standard_error == math.inf


# Rivals of a schedule that has 0 on all of eight examples, which a race runs in pairs. It is lost
# against the first after four (-2 + 1.85 < 0, see the tests of racing), but not after two; against
# the second after two, which agree, but not after four, which do not.
LATE = Score((1.0, 3.0) * 4)
EARLY = Score((3.0, 3.0, -15.0, 20.0, 0.0, 0.0, 0.0, 0.0))
EASY = Score((-1.0,) * 8)


def racer():
    examples = MadeExamples(lambda *_: 0.0, count=8)
    return Study(examples, race=Race()), examples


def test_a_hopeless_schedule_is_dropped_after_some_of_the_examples():
    study, examples = racer()
    dropped = study.score(Proposal(A, LATE))
    assert dropped == Score((0.0,) * 4, is_whole=False)
    assert dropped.mean == -math.inf
    assert examples.measured == [(A, (0, 1)), (A, (2, 3))]
    assert study.full_steps == 4 * 6
    assert study.best is None
    assert not study.knows(A)


def test_without_a_rival_nothing_is_dropped():
    study, examples = racer()
    assert study.score(Proposal(A)).is_whole
    assert examples.measured == [(A, tuple(range(8)))]


@pytest.mark.parametrize("rival", [EASY, None])
def test_a_dropped_schedule_is_completed_for_an_easier_rival(rival):
    study, examples = racer()
    study.score(Proposal(A, LATE))
    assert study.score(Proposal(A, rival)) == Score((0.0,) * 8)
    in_pairs, at_once = [(4, 5), (6, 7)], [(4, 5, 6, 7)]
    assert [run for _, run in examples.measured[2:]] == (in_pairs if rival else at_once)
    assert study.best == A


def test_the_lead_decides_as_the_rival_does():
    study, examples = racer()
    study.score(Proposal(A, LATE))
    # A mean difference of -2 is above a lead of -3.
    assert study.score(Proposal(A, LATE, lead=-3.0)).is_whole
    assert len(examples.measured) == 4


def test_a_dropped_schedule_stays_dropped_for_the_same_rival_without_a_run():
    study, examples = racer()
    study.score(Proposal(A, LATE))
    assert not study.score(Proposal(A, LATE)).is_whole
    assert len(examples.measured) == 2


def test_schedules_that_are_dropped_in_turn_do_not_go_on_forever():
    def search():
        for rival in itertools.cycle((LATE, EARLY)):
            yield Proposal(A, rival)

    study, _ = racer()
    assert study.run(search()) == f"the last {MOST_REPEATS} proposals were all known"
    assert len(study.scores[A].values) == 4


def test_a_spent_budget_completes_no_dropped_schedule():
    examples = MadeExamples(lambda *_: 0.0, count=8)
    study = Study(examples, budget=Budget(full_steps=20), race=Race())
    reason = study.run(asks(Proposal(A, LATE), Proposal(A, LATE), Proposal(A, EASY)))
    assert reason == "the budget is used up"
    assert len(examples.measured) == 2
