"""``search/study``: what it does with a log that former runs have left."""

import itertools
from contextlib import contextmanager

import pytest

from gph_core.schedule import ScheduleSpace
from gph_core.search.budget import Budget
from gph_core.search.log import StudyLog
from gph_core.search.proposals import Proposal
from gph_core.search.study import Study

from ...support.made_examples import MadeExamples

SPACE = ScheduleSpace(10, 4)  # 126 schedules of six full steps
A = next(iter(SPACE))


def steps_sum(schedule, example):
    return float(sum(schedule.full_steps) + example)


def asks(*schedules):
    for schedule in schedules:
        yield Proposal(schedule)


def test_a_finished_study_gives_its_result_again_without_a_run(tmp_path):
    for budget in (Budget(evaluations=5), Budget(full_steps=100)):
        path = tmp_path / str(budget.evaluations)
        first = Study(MadeExamples(steps_sum), budget=budget, log=StudyLog(path, {}))
        first.run(asks(*SPACE))
        examples = MadeExamples(steps_sum)
        again = Study(examples, budget=budget, log=StudyLog(path, {}))
        assert again.run(asks(*SPACE)) == "the budget is used up"
        assert list(again.scores.items()) == list(first.scores.items())
        assert examples.measured == []
        assert again.full_steps == 120


def test_a_larger_budget_goes_on_where_the_former_ended(tmp_path):
    path = tmp_path / "study"
    Study(MadeExamples(steps_sum), budget=Budget(full_steps=100), log=StudyLog(path, {})).run(
        asks(*SPACE)
    )
    examples = MadeExamples(steps_sum)
    study = Study(examples, budget=Budget(full_steps=150), log=StudyLog(path, {}))
    study.run(asks(*SPACE))
    assert study.knows(A)
    assert len(study.scores) == 7
    assert [schedule for schedule, _ in examples.measured] == list(study.scores)[5:]


def in_batches(value, count, batch):
    examples = MadeExamples(value, count)
    examples.batch = batch
    return examples


@contextmanager
def broken_off(monkeypatch, examples, after):
    """Within the block, measuring raises an exception once so many batches were measured."""
    measure = examples.measure

    def break_off(schedule, numbers):
        if len(examples.measured) == after:
            raise InterruptedError
        return measure(schedule, numbers)

    with monkeypatch.context() as patch:
        patch.setattr(examples, "measure", break_off)
        with pytest.raises(InterruptedError):
            yield


def test_what_was_measured_before_an_exception_is_kept_batch_by_batch(monkeypatch):
    log, examples = StudyLog(None, {}), in_batches(steps_sum, 7, 2)
    with broken_off(monkeypatch, examples, after=2):
        Study(examples, log=log).score(Proposal(A))
    assert Study(examples, log=log).score(Proposal(A)).values == tuple(
        steps_sum(A, e) for e in range(7)
    )
    assert [run for _, run in examples.measured] == [(0, 1), (2, 3), (4, 5), (6,)]


def test_examples_of_a_batch_are_measured_together_wherever_others_are_known():
    log, examples = StudyLog(None, {}), in_batches(steps_sum, 10, 4)
    log.add(A, [0, 5], [{"psnr": 5.0}, {"psnr": 6.0}], 1.0, 1.0)
    score = Study(examples, log=log).score(Proposal(A))
    assert [run for _, run in examples.measured] == [(1, 2, 3), (4, 6, 7), (8, 9)]
    assert (score.values[0], score.values[5]) == (5.0, 6.0)


def test_a_limit_ends_a_search_at_the_same_place_whatever_else_was_measured():
    # Six full steps on four examples; without the limit all that is known would be free.
    log = StudyLog(None, {})
    Study(MadeExamples(steps_sum), log=log).run(asks(*itertools.islice(SPACE, 20)))
    for limit in (Budget(evaluations=5), Budget(full_steps=100), Budget(full_steps=120)):
        study = Study(MadeExamples(steps_sum), log=log, limit=limit)
        assert study.run(asks(*SPACE)) == "the budget is used up"
        assert len(study.scores) == 5
        assert study.asked >= 1


def test_what_was_begun_before_an_interruption_is_completed_at_the_end_of_the_budget(monkeypatch):
    # The fifth schedule begins at 96 full steps and is cut off at 108, beyond the budget.
    log, examples = StudyLog(None, {}), in_batches(steps_sum, 4, 1)
    with broken_off(monkeypatch, examples, after=18):
        Study(examples, budget=Budget(full_steps=100), log=log).run(asks(*SPACE))
    again = Study(examples, budget=Budget(full_steps=100), log=log)
    again.run(asks(*SPACE))
    assert (len(again.scores), again.full_steps) == (5, 120)
