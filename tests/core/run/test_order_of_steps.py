"""``call_log``: steps of a sampler that tells the model other noise levels, by their order."""

import pytest
import torch

from gph_core.policies.base import Now, Prediction
from gph_core.policies.extrapolation import Reuse
from gph_core.run.active_run import ActiveRun
from gph_core.run.call_log import BETWEEN, OTHER_LEVELS, UNASKED, UNSURE
from gph_core.schedule import Schedule

SIGMAS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)


def evaluate(run, sigma, value=0.0):
    """One evaluation: the prediction of a cached one, None for a full one, which leaves a value."""
    run.begin_evaluation()
    decision = run.begin_call(sigma, ("p",))
    if decision.is_cached:
        return decision.predicted(run.policy, torch.zeros(1))[0].item()
    if decision.keeps:
        run.end_call(decision, ("p",), [(torch.tensor([value]),)])
    return None


def played(schedule, levels, evaluations=1, reports=True):
    """What each evaluation gave, and the record; full ones leave 1, 2, 3 and so on."""
    run = ActiveRun(Schedule.parse(schedule), Reuse(), SIGMAS)
    found = []
    for step, sigma in enumerate(levels):
        for n in range(evaluations):
            found.append(evaluate(run, sigma, float(len(found) + 1)))
            if reports and n == 0:  # as samplers do: after the first evaluation of a step
                run.step_done(step)
    return found, run.finish(is_complete=True)


OFF = [0.45 * sigma for sigma in SIGMAS[:-1]]  # mostly nearer to the levels of other steps


@pytest.mark.parametrize("levels", [SIGMAS[:-1], OFF, [1.0, *OFF[1:]], [1.0, 0.8, *OFF[2:]]])
def test_a_schedule_is_met_at_any_levels(levels):
    found, record = played("0,1,3/5", levels)
    assert found == [None, None, 2.0, None, 4.0]
    assert (record.full_steps, record.cached_steps, record.notes) == ((0, 1, 3), (2, 4), ())


def test_what_a_step_left_is_used_only_once_it_is_known_to_be_that_step():
    # The second step was planned as cached, and is the newest full one for the third.
    found, record = played("0/5", OFF)
    assert found == [None, None, 2.0, 2.0, 2.0]
    assert (record.full_steps, record.notes) == ((0, 1), (UNSURE,))


def test_two_evaluations_a_step_end_the_caching():
    found, record = played("0,1/5", [0.97 * sigma for sigma in SIGMAS[:-1]], evaluations=2)
    assert found == [None] * 10
    assert (record.full_steps, record.cached_steps) == ((0, 1, 2, 3, 4), ())
    assert record.notes == (OTHER_LEVELS,)
    assert record.caching_stopped == OTHER_LEVELS


def test_steps_that_nobody_reports_are_counted_as_full():
    found, record = played("0,1/5", [0.97 * sigma for sigma in SIGMAS[:-1]], reports=False)
    assert found == [None] * 5
    assert record.full_steps == (0, 1, 2, 3, 4)
    assert record.notes == (OTHER_LEVELS,)


def test_a_level_between_two_steps_is_neither():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    found = []
    for step, sigma in enumerate(SIGMAS[:-1]):
        found.append(evaluate(run, sigma, 1.0))
        run.step_done(step)
        found.append(evaluate(run, 0.9 * sigma, 5.0))
    assert found == [None, None, 1.0, None, 1.0, None, 1.0, None, 1.0, None]
    record = run.finish()
    assert (record.full_steps, record.cached_steps) == ((0,), (1, 2, 3, 4))
    assert record.notes == (BETWEEN,)


def test_a_policy_gets_the_levels_of_the_step_and_the_model_its_own():
    seen = []

    class Seeing(Prediction):
        num_anchors = 1

        def predict(self, anchors, now: Now):
            seen.append((now.step, now.sigma, now.sigma_next, anchors[0].sigma))
            return anchors[0].feature

    run = ActiveRun(Schedule.parse("0,1/5"), Seeing(), SIGMAS)
    for step, sigma in enumerate(OFF[:3]):
        evaluate(run, sigma)
        run.step_done(step)
    assert seen == [(2, 0.6, 0.4, 0.8)]


def test_a_step_at_which_the_model_is_not_asked_counts_as_planned():
    run = ActiveRun(Schedule.parse("0,1/5"), Reuse(), SIGMAS)
    for step, sigma in enumerate(SIGMAS[:-1]):
        if step not in (1, 3):
            evaluate(run, sigma, 1.0)
        run.step_done(step)
    record = run.finish(is_complete=True)
    assert (record.full_steps, record.cached_steps) == ((0, 1, 2), (3, 4))
    assert UNASKED in record.notes
