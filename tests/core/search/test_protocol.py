"""From a budget to a golden path, on examples whose scores are made by a function."""

import math
from dataclasses import replace

import pytest

from gph_core.policies.base import Site
from gph_core.policies.extrapolation import Hermite, Reuse
from gph_core.quality.objective import HARDLY, JOINT, PSNR
from gph_core.schedule import Schedule, uniform
from gph_core.search.budget import Budget
from gph_core.search.judge import Race
from gph_core.search.log import StudyLog
from gph_core.search.protocol import Contestant, Listener, SearchSettings, find_path
from gph_core.search.selection import Control, PlainSteps
from gph_core.search.study import Measurement

from ...support.made_examples import MadeExamples

STEPS, FULL = 12, 5
BEST = Schedule.parse("0,3,6,8,11/12")
UNIFORM = uniform(STEPS, FULL)
OUTPUT, GUIDED = Reuse(Site.OUTPUT), Reuse(Site.GUIDED)


def nearness(best=BEST, gain=0.0):
    """A value that falls with the distance to a schedule, and differs between examples."""
    return lambda schedule, example: 30 + gain + example - schedule.distance(best)


def contestant(policy=None, scoring=None, validation=None, scores=None, baselines=None):
    return Contestant(
        policy or Reuse(),
        scoring or MadeExamples(nearness()),
        StudyLog(None, {}) if scores is None else scores,
        {"uniform": UNIFORM} if baselines is None else baselines,
        validation or MadeExamples(nearness()),
        StudyLog(None, {}),
    )


def settings(evaluations=150.0, **changes):
    return SearchSettings(FULL, Budget(evaluations=evaluations), **changes)


def test_starts_are_scored_first_and_the_search_begins_at_the_best():
    # Each differs from BEST in 3, 1 and 2 full steps.
    starts = [Schedule.parse(t) for t in ("0,1,2,4,11/12", "0,3,6,9,11/12", "0,3,5,7,11/12")]
    examples = MadeExamples(nearness())
    work = replace(contestant(scoring=examples, baselines={}), starts=starts)
    find_path([work], STEPS, settings(evaluations=4.0, algorithm="hill climbing"))
    asked = list(dict.fromkeys(schedule for schedule, _ in examples.measured))
    assert asked[:3] == starts
    assert len(set(asked[3].full_steps) - set(starts[1].full_steps)) == 1  # one swap away


def test_shares_of_images_are_not_raced():
    # All have the same share, so that a race would drop what breaks the ties worse.
    examples = MadeExamples(nearness(gain=20.0))
    found = find_path(
        [contestant(scoring=examples)], STEPS, settings(20.0, objective=HARDLY, race=Race())
    )
    scores = next(iter(found.studies.values())).scores.values()
    assert len(scores) > 5
    assert all(score.is_whole for score in scores)


def test_a_start_that_validates_best_is_delivered():
    start = Schedule.parse("0,1,2,4,11/12")  # the farthest from BEST, so no finalist
    work = contestant(validation=MadeExamples(nearness(start)), baselines={})
    found = find_path([replace(work, starts=[start, UNIFORM])], STEPS, settings())
    assert (found.best.schedule, found.best.name) == (start, "")


def test_controls_of_other_policies_are_measured_and_may_win():
    def control(name, policy, gain):
        examples = MadeExamples(nearness(gain=gain))
        return Control(name, UNIFORM, policy, examples, StudyLog(None, {}))

    controls = [control("uniform", GUIDED, -50), control("5 plain steps", PlainSteps(), 50)]
    work = replace(contestant(baselines={}), controls=controls)
    found = find_path([work], STEPS, settings())
    assert (found.best.schedule, found.best.policy) == (BEST, Reuse())  # plain steps are no path
    assert [v.name for v in found.others][:1] == ["5 plain steps"]
    assert found.others[-1].name == "uniform"
    better = replace(work, controls=[control("uniform", GUIDED, 50)])
    assert find_path([better], STEPS, settings()).best.name == "uniform"


def test_what_was_searched_is_delivered_with_its_values():
    delivery = find_path([contestant()], STEPS, settings())
    assert delivery.best.schedule == BEST
    assert delivery.best.name == ""
    assert delivery.best.score.values == (30.0, 31.0, 32.0, 33.0)
    assert delivery.objective == PSNR
    assert [v.schedule for v in delivery.others if v.name == "uniform"] == [UNIFORM]


def test_a_baseline_that_validates_better_is_delivered():
    examples = MadeExamples(nearness(UNIFORM))
    work = contestant(validation=examples, baselines={"mine": UNIFORM})
    delivery = find_path([work], STEPS, settings())
    assert (delivery.best.schedule, delivery.best.name) == (UNIFORM, "mine")
    means = [v.score.mean for v in (delivery.best, *delivery.others)]
    assert means == sorted(means, reverse=True)


def test_of_several_policies_the_better_two_go_on_and_the_best_wins():
    gains = {Reuse(): 0.0, OUTPUT: 2.0, GUIDED: 1.0}
    contestants = [
        contestant(policy, MadeExamples(nearness(gain=g)), MadeExamples(nearness(gain=g)))
        for policy, g in gains.items()
    ]
    delivery = find_path(contestants, STEPS, settings(600.0))
    assert set(delivery.studies) == {OUTPUT, GUIDED}
    assert (delivery.best.schedule, delivery.best.policy) == (BEST, OUTPUT)


def test_a_search_of_several_policies_keeps_to_its_budget():
    contestants = [contestant(policy) for policy in (Reuse(), OUTPUT, GUIDED)]
    find_path(contestants, STEPS, settings(90.0))
    measured = [{s for s, _ in c.scoring.measured} for c in contestants]
    assert sum(map(len, measured)) <= 90


def test_few_schedules_are_all_tried():
    few = contestant(
        scoring=MadeExamples(lambda _, e: e), validation=MadeExamples(lambda _, e: e), baselines={}
    )
    find_path([few], 6, SearchSettings(3, Budget()))
    assert len({s for s, _ in few.scoring.measured}) == 4  # one of the steps 1 to 4 is full, too


class TwoMetrics(MadeExamples):
    """PSNR that falls and LPIPS that rises with the distance to a schedule."""

    def measure(self, schedule, examples):
        far = schedule.distance(BEST)
        found = [{"psnr": 30 + e - far, "lpips": 0.1 + 0.01 * far} for e in examples]
        return Measurement(found, 0.0)


def test_the_joint_objective_is_standardized_by_a_probe():
    two = contestant(scoring=TwoMetrics(None), validation=TwoMetrics(None))
    delivery = find_path([two], STEPS, settings(objective=JOINT))
    assert delivery.best.schedule == BEST
    (psnr, up), (lpips, down) = delivery.objective.weights
    assert (psnr, lpips) == ("psnr", "lpips")
    assert up > 0 > down
    # One distance is worth 1 dB and 0.01: in standard deviations the same.
    assert down == pytest.approx(-100 * up)


class SomeWithoutLpips(TwoMetrics):
    """LPIPS has no value where one of some steps is full."""

    def __init__(self, *steps):
        super().__init__(None)
        self.steps = set(steps)

    def measure(self, schedule, examples):
        found = super().measure(schedule, examples)
        if self.steps.intersection(schedule.full_steps):
            found = found._replace(metrics=[{**m, "lpips": math.nan} for m in found.metrics])
        return found


def test_schedules_without_values_are_left_out_of_the_joint_objectives_probe():
    two = contestant(scoring=SomeWithoutLpips(4), validation=TwoMetrics(None))
    delivery = find_path([two], STEPS, settings(objective=JOINT))
    assert delivery.best.schedule == BEST
    (_, up), (_, down) = delivery.objective.weights
    assert down == pytest.approx(-100 * up)


def test_a_joint_probe_without_any_value_is_an_error_that_says_so():
    blind = contestant(scoring=SomeWithoutLpips(*range(STEPS)))
    with pytest.raises(ValueError, match="no schedule could be scored"):
        find_path([blind], STEPS, settings(objective=JOINT))


class RecordingListener(Listener):
    """Keeps what it is told."""

    def __init__(self):
        self.scores, self.progress = [], []

    def scored(self, *what):
        self.scores.append(what)

    def validates(self, done, total):
        self.progress.append((done, total))


def test_every_newly_scored_schedule_and_the_progress_of_the_comparison_are_reported():
    listener = RecordingListener()
    delivery = find_path([contestant()], STEPS, settings(40.0), listener)
    assert len(listener.scores) == 40
    policy, study, schedule, score = listener.scores[-1]
    assert (policy, study.scores[schedule]) == (Reuse(), score)
    compared = 1 + len(delivery.others)
    assert listener.progress == [(done, compared) for done in range(compared)]


def test_without_validation_examples_the_scoring_examples_choose_and_nothing_is_run_twice():
    scoring, log = MadeExamples(nearness()), StudyLog(None, {})
    alone = Contestant(Reuse(), scoring, log, {"uniform": UNIFORM})
    delivery = find_path([alone], STEPS, settings())
    assert delivery.best.schedule == BEST
    runs = [(schedule, e) for schedule, examples in scoring.measured for e in examples]
    assert len(runs) == len(set(runs))


def test_what_another_search_of_the_log_found_is_not_forgotten():
    log = StudyLog(None, {})
    found = find_path([contestant(scores=log)], STEPS, settings()).best
    # Of the three that are new none is as good.
    short = settings(3.0, algorithm="random", seed=1)
    again = find_path([contestant(scores=log)], STEPS, short).best
    assert again.schedule == found.schedule == BEST


def test_baselines_of_each_policy_are_its_own():
    # Three first steps are full for Hermite, which could not begin with less.
    hermite = Schedule.parse("0-2,6,11/12")
    contestants = [contestant(Reuse()), contestant(Hermite(2), baselines={"uniform": hermite})]
    delivery = find_path(contestants, STEPS, settings(60.0))
    baselines = {v.policy: v.schedule for v in delivery.others if v.name == "uniform"}
    assert baselines == {Reuse(): UNIFORM, Hermite(2): hermite}


def test_the_best_of_a_policy_that_did_not_go_on_is_validated_too():
    # It was misjudged on the scoring examples.
    gains = {Reuse(): 2.0, OUTPUT: 1.0, GUIDED: 0.0}
    contestants = [
        contestant(
            policy, MadeExamples(nearness(gain=gain)),
            MadeExamples(nearness(gain=50.0 if policy == GUIDED else 0.0)),
        )
        for policy, gain in gains.items()
    ]  # fmt: skip
    delivery = find_path(contestants, STEPS, settings(300.0))
    assert set(delivery.studies) == {Reuse(), OUTPUT}
    assert delivery.best.policy == GUIDED


def test_a_model_whose_images_never_have_values_is_refused():
    blind = MadeExamples(lambda *_: float("nan"))
    with pytest.raises(ValueError, match="no schedule could be scored"):
        find_path([contestant(scoring=blind, validation=blind)], STEPS, settings(20.0))
