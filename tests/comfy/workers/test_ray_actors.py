"""Workers as actors of a real Ray: answers, errors, death, hanging, cancelling."""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from golden_path_pack.nodes.workers import host, ray_actors
from golden_path_pack.nodes.workers.activity import Activity
from golden_path_pack.nodes.workers.ray_actors import Actors, Lost, Request, Workers

pytestmark = pytest.mark.long  # starting Ray and its workers takes seconds

NOWHERE = "ray://127.0.0.1:1"


class Acting:
    """In place of a ComfyUI."""

    def __init__(self, *_):
        self.process = os.getpid()

    def call(self, name, *arguments):
        return getattr(self, name)(*arguments)

    def double(self, value):
        return {"answer": 2 * value}

    def wrong(self):
        return {"error": "a file is missing", "is_value_error": True}

    def broken(self):
        raise TypeError("a defect")

    def sleep(self, seconds):
        time.sleep(seconds)
        return {"answer": seconds}

    def meet(self, folder, name, count):
        """Wait until so many have come, each with a file of its name."""
        Path(folder, name).touch()
        while len(os.listdir(folder)) < count:
            time.sleep(0.01)
        return {"answer": name}

    def die(self):
        os._exit(1)

    def close(self): ...


@pytest.fixture(scope="module")
def started():
    """Ray with three workers, and a function that is called while they are waited for."""
    hook = SimpleNamespace(check=lambda: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", NOWHERE)
        ray_actors.required("local").cloudpickle.register_pickle_by_value(sys.modules[__name__])
        patch.setattr(host, "Host", Acting)
        activity = Activity(lambda: hook.check(), lambda rows: None)
        actors = Actors(Workers("local", 3, 0.0), ("", []), activity)
        yield actors, hook
        actors.close()


def test_answers_come_by_key_from_workers_that_work_at_the_same_time(started, tmp_path):
    actors, _ = started
    requests = {
        key: Request(worker, "meet", (str(tmp_path), key, 3)) for worker, key in enumerate("abc", 1)
    }
    assert actors.ask(requests, 60) == {"a": "a", "b": "b", "c": "c"}
    two = {1: Request(1, "double", (4,)), 2: Request(1, "double", (5,))}
    assert actors.ask(two, 30) == {1: 8, 2: 10}


def test_ray_starts_here_whatever_address_its_own_variable_has(started):
    assert os.environ["RAY_ADDRESS"] == NOWHERE
    assert started[0].ask({0: Request(1, "double", (4,))}, 30) == {0: 8}


def test_what_a_worker_says_is_wrong_is_told_with_its_number(started):
    with pytest.raises(ValueError, match="worker 2: a file is missing"):
        started[0].ask({0: Request(2, "wrong")}, 30)
    with pytest.raises(RuntimeError, match=r"(?s)worker 1: .*a defect"):
        started[0].ask({0: Request(1, "broken")}, 30)


def test_cancelling_does_not_wait_for_an_answer(started):
    actors, hook = started

    def cancel():
        raise KeyboardInterrupt

    hook.check = cancel
    with pytest.raises(KeyboardInterrupt):
        actors.ask({0: Request(3, "sleep", (600,))}, 30)
    hook.check = lambda: None


def test_a_dead_worker_and_one_that_hangs_are_lost(started):
    actors, _ = started
    with pytest.raises(Lost) as lost:
        actors.ask({0: Request(2, "die"), 1: Request(1, "double", (1,))}, 30)
    assert lost.value.worker == 2
    assert actors.alive == [1, 3]
    with pytest.raises(Lost, match="did not answer for 1 seconds"):
        actors.ask({0: Request(3, "double", (1,))}, 1)  # it still sleeps
    assert actors.alive == [1]
    assert actors.ask({0: Request(1, "double", (3,))}, 30) == {0: 6}


@pytest.mark.parametrize(
    ("count", "named"), [(0, "a worker a GPU"), (2, "2 workers of 1 GPUs each")]
)
def test_more_gpus_than_there_are_are_refused_before_anything_starts(started, count, named):
    with pytest.raises(ValueError, match=f"{named}: Ray finds 0 GPUs"):
        Actors(Workers("local", count, 1.0), ("", []), Activity(lambda: None, print))


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (None, 'not installed: run python -m pip install "ray>=2.52"'),
        (SimpleNamespace(__version__="2.9.3", cloudpickle=None), "2.52 or newer, this is 2.9.3"),
    ],
)
def test_without_ray_the_error_says_what_to_install(monkeypatch, module, words):
    monkeypatch.setitem(sys.modules, "ray", module)
    monkeypatch.setitem(sys.modules, "ray.cloudpickle", module and SimpleNamespace())
    with pytest.raises(ValueError, match=words):
        ray_actors.required("local")


def test_a_ray_that_is_started_here_reports_nothing_unless_the_user_wants_it(monkeypatch):
    for wanted, expected in ((None, "0"), ("1", "1")):
        monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", wanted or "")
        if wanted is None:
            monkeypatch.delenv("RAY_USAGE_STATS_ENABLED")
        ray_actors.required("local")
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == expected
