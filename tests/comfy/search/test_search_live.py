"""What the page is told of a search, from the scores that the search reports."""

import itertools

import pytest
from golden_path_pack.gph_core.policies.base import Policy
from golden_path_pack.gph_core.quality.objective import JOINT, PSNR, Objective
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.budget import Budget
from golden_path_pack.gph_core.search.log import StudyLog
from golden_path_pack.gph_core.search.proposals import Proposal, Score
from golden_path_pack.gph_core.search.protocol import Validated
from golden_path_pack.gph_core.search.study import Study
from golden_path_pack.nodes.search.schedule_search import POLICIES
from golden_path_pack.nodes.search.search_live import SearchLive

from ...support.made_examples import MadeExamples

WHOLE = Budget(evaluations=10)
A, B, C = (Schedule.parse(text) for text in ("0-2/6", "0-1,3/6", "0-1,4/6"))


@pytest.fixture
def live():
    return SearchLive("3", "PSNR", WHOLE)


class Given(MadeExamples):
    """One example with the PSNR that a test gives a schedule."""

    def __init__(self):
        self.psnr = {}
        super().__init__(lambda schedule, _: self.psnr[schedule], count=1)


GIVEN = Given()


def study_of(objective: Objective = PSNR, budget: Budget = WHOLE, log: StudyLog | None = None):
    return Study(GIVEN, objective, budget, log)


def score(
    live: SearchLive, study: Study, schedule: Schedule, psnr: float, policy: Policy = POLICIES[0],
    is_whole: bool = True,
):  # fmt: skip
    GIVEN.psnr[schedule] = psnr
    if not is_whole:
        study.scores[schedule] = Score((psnr,), is_whole=False)
    else:
        study.score(Proposal(schedule))
    live.scored(policy, study, schedule, study.scores[schedule])


def test_the_curve_has_a_point_for_each_improvement(live):
    study = study_of()
    for schedule, mean in ((A, 20.0), (B, 19.0), (C, 21.0)):
        score(live, study, schedule, mean)
    assert live.facts["curve"] == [(1, 20.0), (3, 21.0)]
    assert (live.facts["best"], live.facts["score"]) == ("0-1,4/6", 21.0)
    assert live.facts["policy"] == str(POLICIES[0])
    assert live.facts["used"] == pytest.approx(3 / 10)


def test_a_dropped_schedule_counts_but_is_never_the_best(live):
    study = study_of()
    score(live, study, A, 20.0)
    score(live, study, B, 30.0, is_whole=False)
    assert live.facts["scored"] == 2
    assert live.facts["best"] == str(A)


def test_what_a_second_study_takes_up_is_counted_once_and_the_used_part_never_shrinks(live):
    # With several policies each has a short search, whose schedules the long one begins with.
    short = study_of(budget=Budget(evaluations=4))
    score(live, short, A, 20.0)
    score(live, short, B, 21.0)
    long = study_of()
    score(live, long, A, 20.0)
    assert live.facts["scored"] == 2
    assert live.facts["used"] == pytest.approx(2 / 10)
    assert live.facts["curve"] == [(1, 20.0), (2, 21.0)]


def test_scores_of_a_probe_do_not_stand_against_those_in_another_unit(live):
    probe = study_of()
    score(live, probe, A, 30.0)
    standardized = study_of(Objective(JOINT, (("psnr", 0.5),), -15.0))
    score(live, standardized, B, 30.5)
    assert (live.facts["best"], live.facts["score"]) == (str(B), 0.25)
    assert live.facts["curve"] == [(2, 0.25)]
    assert live.facts["unit"] == JOINT


def test_a_probes_scores_have_their_own_unit():
    live = SearchLive("3", JOINT, WHOLE)
    score(live, study_of(), A, 30.0)
    assert live.facts["unit"] == "PSNR"


def test_validation_is_a_state_of_its_own(live):
    score(live, study_of(), A, 20.0)
    assert live.facts["state"] == "searching"
    live.validates(2, 7)
    assert (live.facts["state"], live.facts["part"]) == ("validating", [2, 7])


def test_full_runs_are_reported_in_between(live, monkeypatch):
    events = []
    monkeypatch.setattr(
        live, "_tell", lambda now: events.append((live.facts["state"], live.facts["part"]))
    )
    live.on_reference(3, 8)
    live.validates(0, 7)
    live.on_reference(50, 50)
    assert events == [
        ("preparing", [3, 8]),
        ("validating", [0, 7]),
        ("preparing", [50, 50]),
        ("validating", [0, 7]),  # what goes on after them
    ]


def test_the_rate_is_that_of_the_runs_of_this_session_alone(monkeypatch):
    clock = itertools.count(0, 30.0)  # a measurement takes half a minute
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    log = StudyLog(None, {})
    first = SearchLive("3", "PSNR", WHOLE)
    score(first, study_of(log=log), A, 20.0)
    assert first.facts["per_minute"] == 2.0
    resumed, study = SearchLive("3", "PSNR", WHOLE), study_of(log=log)
    score(resumed, study, A, 20.0)
    assert resumed.facts["per_minute"] == 0.0
    score(resumed, study, B, 20.0)
    score(resumed, study, C, 20.0)
    assert resumed.facts["per_minute"] == 2.0


def test_the_time_left_is_not_known_before_two_schedules_were_sampled_here(monkeypatch):
    clock = itertools.count(0, 30.0)
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    log = StudyLog(None, {})
    live = SearchLive("3", "PSNR", WHOLE)
    score(live, study_of(log=log), A, 20.0)
    assert live.facts["left"] is None
    resumed, study = SearchLive("3", "PSNR", WHOLE), study_of(log=log)
    for schedule in (A, B):
        score(resumed, study, schedule, 20.0)
    assert resumed.facts["left"] == pytest.approx(
        8 * 30
    )  # of ten schedules two are done, one of them here
    score(resumed, study, C, 20.0)
    assert resumed.facts["left"] == pytest.approx(7 * 30)


def test_the_time_left_of_comparisons_is_known_after_the_first(live, monkeypatch):
    clock = itertools.count(0, 1.0)
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    score(live, study_of(), A, 20.0)
    monkeypatch.setattr(live, "_tell", lambda now: None)
    found = []
    for done in range(3):
        live.validates(done, 7)
        found.append(live.facts["left"])
    assert found == [None, 6, 5]  # a second each


def test_one_scoring_example_is_warned_of(live, caplog):
    live.scores_on(2)
    assert caplog.messages == []
    live.scores_on(1)
    assert live.facts["examples"] == 1
    (line,) = caplog.messages
    assert line.startswith("Schedule Search: there is only one scoring example")


def test_the_last_event_is_what_the_nodes_output_says(live):
    score(live, study_of(), A, 20.0)
    last = live.finish(
        "the table", Validated(B, POLICIES[1], Score((18.0,)), ""), is_validated=True
    )
    assert last["state"] == "done"
    # What is delivered, which need not be the best on the scoring examples.
    assert (last["best"], last["policy"], last["score"]) == (str(B), str(POLICIES[1]), 18.0)
    assert last["is_validated"] is True
    assert last["curve"] == [(1, 20.0)]
    assert last["table"] == "the table"
    assert last["node_id"] == "3"
    assert {"workflow_id", "prompt_id"} <= set(last)
