"""Rows of what workers do."""

import itertools
from types import SimpleNamespace

import pytest
from golden_path_pack.nodes.workers import activity as module
from golden_path_pack.nodes.workers import jobs
from golden_path_pack.nodes.workers.activity import Activity


@pytest.fixture
def activity(monkeypatch):
    seconds = itertools.count(0, 2)  # between two looks at the clock
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    return Activity(lambda: None, lambda rows: None)


def doing(activity):
    return [row["doing"] for row in activity.rows()]


def test_a_worker_does_what_it_was_asked_last_and_waits_after_the_answers(activity):
    activity.asked(0, "measure")
    activity.asked(1, "velocities")
    activity.asked(1, "notes")  # takes no time
    assert doing(activity) == ["scoring", "fitting"]
    activity.answered(0, {"full_steps": 30})
    activity.answered(1, {"full_steps": 8})
    assert doing(activity) == ["waiting", "fitting"]
    activity.answered(1, [])
    assert doing(activity) == ["waiting", "waiting"]


def test_the_rate_is_that_of_the_time_at_work(activity):
    activity.asked(0, "measure")  # at 0 s
    activity.answered(0, {"full_steps": 30})  # at 2 s
    activity.asked(0, "measure")  # at 4 s
    activity.answered(0, {"full_steps": 10})  # at 6 s
    assert [row["rate"] for row in activity.rows()] == [600.0]  # 40 steps in 4 s


def test_a_lost_worker_stays_so(activity):
    activity.asked(0, "load")
    activity.asked(1, "load")
    activity.lost(1)
    activity.dropped()
    assert activity.rows() == [
        {"worker": 0, "doing": "waiting", "rate": 0.0},
        {"worker": 1, "doing": "lost", "rate": 0.0},
    ]


def test_waiting_tells_the_rows_and_may_be_cancelled():
    told, cancelled = [], []
    activity = Activity(lambda: cancelled and cancelled[0](), told.append)
    activity.asked(3, "full")
    activity.waits()
    assert told == [[{"worker": 3, "doing": "references", "rate": 0.0}]]
    cancelled.append(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        activity.waits()
    assert len(told) == 1


def test_the_line_of_a_worker():
    row = {"worker": 1, "doing": "sampling", "rate": 812.4}
    assert jobs._line(row) == "worker 1: sampling, 812 full steps per minute"
    assert jobs._line(row | {"rate": 0.0}) == "worker 1: sampling"
