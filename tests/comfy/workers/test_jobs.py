"""Jobs on workers: in order, each once, whatever becomes of the workers."""

import comfyui_version
import pytest
import torch
from golden_path_pack.nodes.workers import crew, jobs
from golden_path_pack.nodes.workers.activity import Activity
from golden_path_pack.nodes.workers.jobs import JobCrew
from golden_path_pack.nodes.workers.ray_actors import Lost, Workers

CONDITIONS = {"sampler": "euler"}


class Fakes:
    """In place of processes: each look finds the answer of the worker that was asked last."""

    def __init__(self, count, dies_at=(), hangs=()):
        self.alive, self.dies_at, self.hangs = list(range(count)), set(dies_at), set(hangs)
        self.taken = []  # pairs of worker and job

    def ask(self, requests, limit_s):
        report = {
            "ComfyUI": comfyui_version.__version__, "torch": torch.__version__,
            "study": CONDITIONS,
        }  # fmt: skip
        found = {"load": report, "controls": [1.0, 2.0]}
        return {key: found[request.name] for key, request in requests.items()}

    def start(self, request):
        self.taken.append((request.worker, request.arguments[0]))
        return self.taken[-1]

    def done(self, references):
        return [r for r in references if r[0] not in self.hangs][-1:]

    def answer(self, worker, reference):
        if reference in self.dies_at:
            self.lose(worker, "it died")
        return {"result": reference[1] * 10, "full_steps": 1}

    def lose(self, worker, reason):
        self.alive.remove(worker)
        raise Lost(worker, reason)

    def lose_hanging(self, worker, limit_s):
        self.lose(worker, "it hangs")

    def close(self):
        self.alive = []


class Session:
    conditions = CONDITIONS


@pytest.fixture
def opened(monkeypatch):
    def open_jobs(count, **faults):
        fakes = Fakes(count, **faults)
        monkeypatch.setattr(crew, "Actors", lambda *_: fakes)
        nobody = Activity(lambda: None, lambda rows: None)
        return JobCrew(Workers(), Session(), ({}, "1"), nobody), fakes

    return open_jobs


def numbers(count):
    return ((n,) for n in range(count))


def test_results_come_in_the_order_of_the_jobs(opened):
    found, fakes = opened(3)
    assert list(found.results(numbers(7))) == [0, 10, 20, 30, 40, 50, 60]
    assert [job for _, job in fakes.taken] == list(range(7))
    # The last of three answers first, so its worker takes what follows.
    assert fakes.taken[:4] == [(0, 0), (1, 1), (2, 2), (2, 3)]


def test_a_job_is_taken_only_when_a_worker_is_idle(opened):
    found, fakes = opened(2)
    fakes.done = lambda references: references[:1]
    results = found.results(numbers(10))
    next(results)
    assert len(fakes.taken) == 2


def test_the_job_of_a_lost_worker_goes_to_another_one(opened):
    found, fakes = opened(2, dies_at=[(1, 1)])
    assert list(found.results(numbers(4))) == [0, 10, 20, 30]
    assert sorted(job for _, job in fakes.taken) == [0, 1, 1, 2, 3]
    assert found.notes == ["worker 1 was lost (it died); others have taken its examples"]


def test_the_job_of_a_worker_that_hangs_goes_to_another_one(opened, monkeypatch):
    found, fakes = opened(2, hangs=[0])
    monkeypatch.setattr(crew, "LEAST_S", 0.0)
    monkeypatch.setattr(crew, "PATIENCE", 0.0)
    monkeypatch.setattr(crew, "UNKNOWN_S", 0.0)
    fakes.done = lambda references: [r for r in references if r[0] == 1]
    assert list(found.results(numbers(3))) == [0, 10, 20]
    assert fakes.alive == [1]


def test_without_any_worker_left_it_stops(opened):
    found, _ = opened(1, dies_at=[(0, 1)])
    results = found.results(numbers(3))
    assert next(results) == 0
    with pytest.raises(RuntimeError, match="All results are saved: queue again"):
        next(results)


def test_workers_start_only_if_there_is_something_to_do(monkeypatch):
    def none(*_):
        raise AssertionError("workers were started")

    monkeypatch.setattr(jobs, "JobCrew", none)
    with jobs.shared(Workers(), Session(), None) as shared:
        assert list(shared.jobs([], 0)) == []
